"""lexing="contextual" beside Lark's LALR parser: on cases by hand (tests/data/contextual.json, where the verdicts of
Lark's lexer are also those of the rule we state: longest match, then priority, then text over pattern) and on random
grammars, and its masks beside what it accepts."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

import glrsampler as glr
import pytest
from lark import Lark
from lark.exceptions import LarkError
from oracle.contextual import accepts
from oracle.random_lalr import lalr_parser, random_lalr

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "contextual.json").read_text(encoding="utf-8")
)


def lark_accepts(parser: Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except LarkError:
        return False
    return True


def test_there_are_cases() -> None:
    assert len({case["name"] for case in CASES}) == len(CASES) >= 40
    for case in CASES:
        assert case["accepts"], case["name"]
        assert case["rejects"], case["name"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_lark_and_the_rule_agree(case: dict[str, Any]) -> None:
    parser = Lark(case["grammar"], parser="lalr", lexer="contextual")
    for wanted, texts in ((True, case["accepts"]), (False, case["rejects"])):
        for text in texts:
            assert lark_accepts(parser, text) == wanted, text
            assert accepts(parser, text) == wanted, text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_a_sentence(case: dict[str, Any]) -> None:
    grammar = glr.Grammar.from_lark(case["grammar"], lexing="contextual")
    for wanted, texts in ((True, case["accepts"]), (False, case["rejects"])):
        for text in texts:
            assert grammar.matches(text) == wanted, text
    matcher = grammar.compile(bytes_and()).matcher()
    for text in case["accepts"]:
        matcher.reset()
        matcher.commit_bytes(text.encode())
        assert matcher.accepting, text


def texts_of(letters: str, most: int) -> list[str]:
    return ["".join(t) for size in range(1, most + 1) for t in itertools.product(letters, repeat=size)]


@pytest.mark.parametrize("chunk", range(6))
def test_random_grammars_beside_the_table_of_lark(chunk: int) -> None:
    """Without a warning the same texts; with one, fewer."""
    compared = 0
    for seed in range(10_000 * chunk, 10_000 * chunk + 60):
        text, letters = random_lalr(seed)
        if (parser := lalr_parser(text)) is None:
            continue
        try:
            grammar = glr.Grammar.from_lark(text, lexing="contextual")
        except glr.GrammarError:  # nothing is a sentence
            assert not any(accepts(parser, candidate) for candidate in texts_of(letters, 4)), (seed, text)
            continue
        for candidate in texts_of(letters, 6 if len(letters) == 2 else 4):
            wanted, found = accepts(parser, candidate), grammar.matches(candidate)
            assert found == wanted or (wanted and grammar.warnings), (seed, text, candidate)
        compared += 1
    assert compared > 10


def bytes_and(*texts: bytes) -> glr.Vocabulary:
    tokens = [bytes((b,)) for b in range(256)] + list(texts) + [b""]
    return glr.Vocabulary.from_tokens(tokens, end_tokens=[len(tokens) - 1])


@pytest.mark.parametrize("chunk", range(6))
def test_random_masks_beside_what_is_accepted(chunk: int) -> None:
    """Whatever begins a sentence is allowed, and after whatever is allowed something is."""
    for seed in range(10_000 * chunk, 10_000 * chunk + 40):
        text, letters = random_lalr(seed)
        rng = Random(seed)
        tokens = [c.encode() for c in letters] + [bytes(rng.choices(letters.encode(), k=k)) for k in (2, 2, 3, 3, 4)]
        end = len(tokens)
        try:
            grammar = glr.Grammar.from_lark(text, lexing="contextual")
            constraint = grammar.compile(glr.Vocabulary.from_tokens([*tokens, b""], end_tokens=[end]))
        except glr.GrammarError:
            continue
        sentences = {t.encode() for t in texts_of(letters, 6 if len(letters) == 2 else 4) if grammar.matches(t)}
        todo = [(constraint.matcher(), b"")]
        while todo:
            matcher, here = todo.pop()
            allowed = set(map(int, matcher.allowed_tokens()))
            where = (seed, text, here)
            assert allowed, where
            assert (end in allowed) == grammar.matches(here), where
            begun = {i for i, t in enumerate(tokens) if any(s.startswith(here + t) for s in sentences)}
            assert begun <= allowed, where
            for i, token in enumerate(tokens):
                other = matcher.fork()
                assert other.try_commit(i) == (i in allowed), (*where, token)
                if i in allowed and i < len(letters) and len(here) < 4:
                    todo.append((other, here + token))
                elif i in allowed:
                    assert other.allowed_count, (*where, token)


def test_a_terminal_that_may_be_empty_is_refused() -> None:
    with pytest.raises(glr.GrammarError, match="'A', which may be empty"):
        glr.Grammar.from_lark("start: A B\nA: /a*/\nB: /b/", lexing="contextual")


@pytest.mark.parametrize(
    ("grammar", "says"),
    [
        ("start: " + " | ".join(f'"k{i}"' for i in range(20_000)), "more than 1000 terminals"),
        ("start: " + "(" * 3000 + "A" + " B)*" * 3000 + "\nA: /a+/\nB: /b/", "the LALR automaton is too large"),
    ],
    ids=["terminals", "nesting"],
)
def test_what_would_take_long_is_refused(grammar: str, says: str) -> None:
    with pytest.raises(glr.GrammarError, match=says):
        glr.Grammar.from_lark(grammar, lexing="contextual")


def test_terminals_that_overlap_in_many_ways() -> None:
    """That all compete with all is taken for granted when there is too much to look through."""
    patterns = "\n".join(f"T{i}: /[a-z]{{{i % 7},{i % 7 + i}}}x{{{i}}}?y/" for i in range(100))
    names = " | ".join(f"T{i}" for i in range(100))
    grammar = glr.Grammar.from_lark(f"start: ({names})*\n{patterns}", lexing="contextual")
    assert grammar.matches("y")


def test_of_equal_texts_the_first_name() -> None:
    grammar = glr.Grammar.from_lark('start: X "a" | Y "c"\nX: "b"\nY: "b"i', lexing="contextual")
    assert (grammar.matches("ba"), grammar.matches("bc"), grammar.matches("Bc")) == (True, False, True)


def test_tokens_of_the_model_compete_with_nothing() -> None:
    tokens = [b"a", b"b", b"", b"<end>"]
    vocabulary = glr.Vocabulary.from_tokens(tokens, end_tokens=[3], special_tokens={2: "<cut>"})
    grammar = glr.Grammar.from_lark("start: A <cut> A B\nA: /a+/\nB: /b/", lexing="contextual")
    matcher = grammar.compile(vocabulary).matcher()
    for token in (0, 0, 2, 0, 0):
        matcher.commit(token)
    assert set(map(int, matcher.allowed_tokens())) == {0, 1}


def test_saved_constraints_have_the_same_masks(tmp_path: Path) -> None:
    vocabulary = bytes_and(b"if", b"ifx", b"x=", b" i", b"f ")
    grammar = glr.Grammar.from_lark(CASES[0]["grammar"], lexing="contextual")
    made = grammar.compile(vocabulary, mode="eager")
    made.save(tmp_path / "c")
    loaded = glr.Constraint.load(tmp_path / "c", vocabulary)
    for text in CASES[0]["accepts"]:
        one, other = made.matcher(), loaded.matcher()
        for byte in text.encode():
            assert one.mask().tolist() == other.mask().tolist()
            one.commit(byte)
            other.commit(byte)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_other_readings_take_no_less(case: dict[str, Any]) -> None:
    """Who wins among several terminals is the longest of its own kind, so its reading is one of the others' too."""
    for lexing in ("longest", "all"):
        grammar = glr.Grammar.from_lark(case["grammar"], lexing=lexing)
        for text in case["accepts"]:
            assert grammar.matches(text), (lexing, text)


def test_where_lark_departs_from_the_rule() -> None:
    """Priority comes before length in Lark."""
    parser = Lark('start: A "!" | B "?"\nA.2: /[a-m]+/\nB.1: /[a-z]+/', parser="lalr", lexer="contextual")
    assert (lark_accepts(parser, "abz?"), accepts(parser, "abz?")) == (False, True)
