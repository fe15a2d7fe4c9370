"""Grammars put together in Python, and triggers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import glrsampler as glr
import numpy as np
import pytest


def matched(node: glr.Node, alphabet: str, longest: int) -> set[str]:
    grammar = node.grammar()
    texts = ("".join(t) for n in range(longest + 1) for t in itertools.product(alphabet, repeat=n))
    return {text for text in texts if grammar.matches(text)}


def expected(pattern: str, alphabet: str, longest: int) -> set[str]:
    texts = ("".join(t) for n in range(longest + 1) for t in itertools.product(alphabet, repeat=n))
    return {text for text in texts if re.fullmatch(pattern, text)}


@pytest.mark.parametrize(
    ("node", "pattern"),
    [
        (glr.literal("ab") + "c", "abc"),
        ("a" + glr.literal("b"), "ab"),
        (glr.literal("a") | "bc" | b"cc", "a|bc|cc"),
        ("c" | glr.literal("a"), "a|c"),
        (glr.repeat("ab", 1, 2), "(ab){1,2}"),
        (glr.repeat(glr.literal("a") | "b"), "[ab]*"),
        (glr.repeat("a", 2), "a{2,}"),
        (glr.sequence(), ""),
        (glr.regex("[ab]+") & glr.regex("[bc]+"), "b+"),
        (~glr.regex(".*b.*"), "[^b]*"),
        ("ab" & ~glr.literal("a"), "ab"),
        (glr.regex("A", "i") + glr.Grammar.from_gbnf('root ::= "b" root | "c"'), "[aA]b*c"),
        (glr.choice("a", glr.sequence("b", glr.repeat("c", 0, 1))), "a|bc?"),
    ],
)
def test_operators(node: glr.Node, pattern: str) -> None:
    assert matched(node, "abcA", 4) == expected(pattern, "abcA", 4)


def test_a_rule_may_stand_in_its_own_definition() -> None:
    number = glr.regex("-?[0-9]+")
    total = glr.rule("total")
    total.define(number | "(" + total + glr.repeat(" + " + total, 1) + ")")
    grammar = total.grammar()
    assert grammar.matches("(1 + (2 + -3))")
    assert not grammar.matches("(1)")
    even = glr.rule("even")
    odd = glr.rule("odd", "a" + even)
    even.define("a" + odd | "")
    assert matched(even, "a", 6) == {"", "aa", "aaaa", "aaaaaa"}


def test_wrong_pieces_are_refused() -> None:
    with pytest.raises(ValueError, match="'x' is not defined"):
        (glr.literal("a") + glr.rule("x")).grammar()
    with pytest.raises(ValueError, match="'x' is defined already"):
        glr.rule("x", "a").define("b")
    with pytest.raises(ValueError, match="at least 3 and at most 2"):
        glr.repeat("a", 3, 2)
    with pytest.raises(ValueError, match="a choice of nothing"):
        glr.choice()
    with pytest.raises(TypeError, match="not int"):
        glr.literal("a") + 1  # type: ignore[operator]  # what is tested
    recursive = glr.rule("r")
    recursive.define("(" + recursive + ")" | "x")
    with pytest.raises(glr.GrammarError, match="r"):
        (recursive & "x").grammar().matches("x")


def test_deep_and_shared_nodes() -> None:
    node: glr.Node = glr.literal("x")
    for _ in range(20_000):
        node = "(" + node + ")"
    assert node.grammar().matches(b"(" * 20_000 + b"x" + b")" * 20_000)
    doubled: glr.Node = glr.literal("a")
    for _ in range(12):
        doubled = doubled + doubled
    assert doubled.grammar().matches(b"a" * 4096)


def test_what_is_used_twice_is_not_written_out_twice() -> None:
    doubled: glr.Node = glr.literal("a")
    for _ in range(60):
        doubled = doubled + doubled
    assert len(doubled.grammar().source) < 10_000
    either: glr.Node = glr.regex("[ab]")
    for _ in range(16):
        either = (either + either) | either
    assert either.grammar().matches("ab" * 100)


@pytest.mark.parametrize(
    "node",
    [
        glr.regex(".*a.*") & glr.regex(".*b.*"),
        glr.regex(".*a.*") & ~glr.regex("a*"),
        glr.triggered({glr.regex("T[a-z]+;"): "x", "U": "y"}),
    ],
    ids=["two patterns", "a complement", "triggers"],
)
def test_saved_and_loaded(node: glr.Node, tmp_path: Path) -> None:
    vocabulary = glr.Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b""], [256])
    constraint = node.compile(vocabulary)
    constraint.save(tmp_path / "saved.glr")
    loaded = glr.Constraint.load(tmp_path / "saved.glr", vocabulary)
    assert np.array_equal(loaded.matcher().mask(), constraint.matcher().mask())


def test_the_fingerprint_is_of_the_content() -> None:
    one = (glr.literal("a") | "b").grammar()
    assert one.fingerprint == (glr.literal("a") | "b").grammar().fingerprint
    others = [glr.literal("a") | "c", glr.literal("a") + "b", glr.repeat("a"), glr.repeat("a", 0, 5)]
    assert len({one.fingerprint, *(node.grammar().fingerprint for node in others)}) == 5


def test_a_schema_inside_another_grammar() -> None:
    call = "<call>" + glr.json_schema({"type": "integer"}) + "</call>"
    grammar = call.grammar()
    assert grammar.matches("<call>12</call>")
    assert not grammar.matches("<call>1.5</call>")
    assert ("[" + glr.json_schema('{"type": "string"}', whitespace="compact") + "]").grammar().matches('["x"]')


def test_pieces_of_a_text() -> None:
    text = "abcabé, aab"
    pieces = {text[i:j] for i in range(len(text) + 1) for j in range(i, len(text) + 1)}
    assert matched(glr.substring_of(text), "abcé, ", 3) == {piece for piece in pieces if len(piece) <= 3}
    quoted = ('"' + glr.substring_of(text) + '"').grammar()
    assert all(quoted.matches(f'"{piece}"') for piece in pieces)
    assert not quoted.matches('"ac"')
    assert glr.substring_of("").grammar().matches("")
    long = "".join(str(n) + " " for n in range(5000))
    assert glr.substring_of(long).grammar().matches(long[1000:9000])


# --- triggers ------------------------------------------------------------------------------------------

AB = "ab<"


def reference(text: str, *, again: bool, required: bool) -> bool:
    """Free text, then after each first "ab" the payload "<b" or "<a"."""
    left, payloads = text, 0
    while True:
        _, trigger, after = left.partition("ab")
        if not trigger:
            return payloads > 0 or not required
        if after[:2] not in ("<b", "<a"):
            return False
        left, payloads = after[2:], payloads + 1
        if not again:
            return left == ""


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("required", [True, False])
def test_text_is_free_but_for_what_follows_a_trigger(again: bool, required: bool) -> None:
    node = glr.triggered({"ab": glr.literal("<b") | "<a"}, again=again, required=required)
    texts = {"".join(t) for n in range(9) for t in itertools.product(AB, repeat=n)}
    grammar = node.grammar()
    wrong = [t for t in texts if grammar.matches(t) != reference(t, again=again, required=required)]
    assert wrong == []


def test_several_triggers_each_with_a_grammar_of_its_own() -> None:
    grammar = glr.triggered({"<a>": "1", glr.regex("<b+>"): glr.json_schema({"type": "boolean"})}).grammar()
    for text in ("", "x<a>1y", "<bb>true, <a>1", "é<a", "<b"):
        assert grammar.matches(text), text
    for text in ("<a>2", "<a>", "<b>1", "x<bbb>tru", "<a>1<a>"):
        assert not grammar.matches(text), text


def test_the_token_that_ends_the_trigger_may_begin_the_payload() -> None:
    vocabulary = glr.Vocabulary.from_tokens([b"x", b"<a", b'>{"', b">[", b'k":1}', b">", b"{", b""], [7])
    schema = glr.json_schema({"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]})
    matcher = glr.triggered({"<a>": schema}).compile(vocabulary).matcher()
    for token in (0, 1):
        matcher.commit(token)
    assert list(matcher.allowed_tokens()) == [0, 1, 2, 4, 5, 6, 7]  # not `>[`
    matcher.commit(2)
    assert list(matcher.allowed_tokens()) == [4]


def test_a_special_token_as_trigger() -> None:
    tokens = [b"a", b"b", b"<", b"", b""]
    vocabulary = glr.Vocabulary.from_tokens(tokens, [4], {3: "<call>", 4: "</s>"})
    matcher = glr.triggered({glr.special_token("<call>"): "b"}, again=False).compile(vocabulary).matcher()
    assert list(matcher.allowed_tokens()) == [0, 1, 2, 3, 4]
    matcher.commit(3)
    assert list(matcher.allowed_tokens()) == [1]
    matcher.commit(1)
    assert list(matcher.allowed_tokens()) == [4]


def test_at_least_256_characters_of_thinking() -> None:
    thinking = glr.regex(r"[\s\S]{256,}")
    node = glr.triggered({"</thinking>": glr.literal("yes") | "no"}, before=thinking, again=False, required=True)
    tokens = [bytes([b]) for b in range(256)] + [b"</", b"thinking", b"</thinking>", b"thinking>yes", b""]
    vocabulary = glr.Vocabulary.from_tokens(tokens, [260])
    matcher = node.compile(vocabulary).matcher()
    matcher.commit_bytes("é" * 255)
    assert not matcher.allows(258)
    refused = matcher.fork()
    refused.commit_bytes(b"</thinking")
    # Of the text so far 265 characters would be thinking, were this not the first place where it ends.
    assert not refused.allows(ord(">"))
    matcher.commit_bytes(b"e")
    assert matcher.allows(258)
    matcher.commit(256)
    assert matcher.allows(259)
    matcher.commit(259)
    assert matcher.accepting
    assert list(np.asarray(matcher.allowed_tokens())) == [260]


def test_no_trigger_is_an_error() -> None:
    with pytest.raises(ValueError, match="no trigger"):
        glr.triggered({})
    with pytest.raises(ValueError, match="may be empty"):
        glr.triggered({glr.regex("a*"): "x"})
