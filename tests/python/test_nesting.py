"""The nesting budget: the language ends at it, inside tokens too."""

from __future__ import annotations

import itertools
import random

import glrsampler as glr
import pytest
from glrsampler import Grammar

BRACKETS = {"[": "]", "{": "}", "(": ")"}
TOKENS = [
    b"[",
    b"]",
    b"[[",
    b"[[[",
    b"]]",
    b"],[",
    b"{",
    b"}",
    b'{"a":',
    b'"a"',
    b":",
    b",",
    b"1",
    b"[1",
    b"1]",
    b'{"a":[{',
    b"[]",
    b"[]]",
]
JSON = r"""
root   ::= value
value  ::= object | array | string | number
object ::= "{" (pair ("," pair)*)? "}"
pair   ::= string ":" value
array  ::= "[" (value ("," value)*)? "]"
string ::= "\"a\""
number ::= "1"
"""


def vocabulary() -> glr.Vocabulary:
    return glr.Vocabulary.from_tokens([*TOKENS, b""], end_tokens=[len(TOKENS)], special_tokens={len(TOKENS): "</s>"})


def depth(text: bytes) -> int:
    """The most brackets open at once."""
    deepest = now = 0
    for c in text.decode():
        now += (c in BRACKETS) - (c in BRACKETS.values())
        deepest = max(deepest, now)
    return deepest


@pytest.mark.parametrize("mode", ["lazy", "eager"])
@pytest.mark.parametrize("levels", [1, 2, 3, 7])
def test_masks_are_those_of_the_unlimited_grammar_without_what_is_too_deep(levels: int, mode: str) -> None:
    vocab = vocabulary()
    grammar = glr.Grammar.from_gbnf(JSON)
    free = grammar.compile(vocab)
    limited = grammar.compile(vocab, mode=mode, limits=glr.Limits(max_nesting=levels))
    rng = random.Random(levels)
    for _ in range(40):
        one, other, text = free.matcher(), limited.matcher(), b""
        for _ in range(30):
            allowed = list(one.allowed_tokens())
            wanted = [t for t in allowed if t == len(TOKENS) or depth(text + TOKENS[t]) <= levels]
            assert list(other.allowed_tokens()) == wanted, text
            deeper = [t for t in wanted if t < len(TOKENS) and TOKENS[t][:1] in (b"[", b"{")]
            token = rng.choice(deeper if deeper and rng.random() < 0.5 else wanted)
            if token == len(TOKENS):
                break
            one.commit(token)
            other.commit(token)
            text += TOKENS[token]


@pytest.mark.parametrize(
    ("gbnf", "levels", "sentences", "too_deep"),
    [
        ('root ::= "(" root? ")"', 3, ["()", "((()))"], ["(((())))"]),
        ('root ::= "(" root ")" | "x"', 1, ["x", "(x)"], ["((x))"]),
        # Nothing closes the operands of a chain, nor the branches of open ifs: they nest no deeper.
        ('e ::= e "+" e | "(" e ")" | "x"\nroot ::= e ";"', 1, ["x+x+x+x;", "(x+x)+(x);"], ["((x));", "x+((x+x));"]),
        ('s ::= "if " s ("else " s)? | "x "\nroot ::= s', 1, ["if if if x else x "], []),
        # Two kinds of brackets in one cycle; what is separated and not bracketed does not count.
        (
            'v ::= "[" row* "]" | "x"\nrow ::= "{" list "}"\nlist ::= v "," list | v\nroot ::= v',
            4,
            ["[{x,x,[{x}]}]"],
            ["[{[{[]}]}]"],
        ),
        # Two cycles: what one of them has open counts in the other.
        (
            'root ::= s\ns ::= "{" s* "}" | e ";"\ne ::= "(" e ")" | "x"',
            2,
            ["{(x);}", "{{x;}}", "((x));", "{}"],
            ["{{{x;}}}", "(((x)));"],
        ),
    ],
)
def test_what_counts_as_nesting(gbnf: str, levels: int, sentences: list[str], too_deep: list[str]) -> None:
    grammar = glr.Grammar.from_gbnf(gbnf)
    vocab = glr.Vocabulary.from_tokens([bytes([b]) for b in range(32, 127)] + [b""], end_tokens=[95])
    constraint = grammar.compile(vocab, limits=glr.Limits(max_nesting=levels))
    for text in sentences:
        matcher = constraint.matcher()
        matcher.commit_bytes(text.encode())
        assert matcher.accepting, text
    for text in too_deep:
        assert grammar.matches(text.encode()), text
        with pytest.raises(glr.RejectedToken):
            constraint.matcher().commit_bytes(text.encode())


def test_explain_names_the_budget_and_expects_only_what_is_within_it() -> None:
    constraint = glr.Grammar.from_gbnf(JSON).compile(vocabulary(), limits=glr.Limits(max_nesting=2))
    matcher = constraint.matcher()
    matcher.commit_bytes(b"[[")
    why = matcher.explain(TOKENS.index(b"["))
    assert "nesting is limited to 2 levels" in str(why)
    assert "'['" not in str(why).split("expected")[1]


def test_a_budget_that_no_sentence_is_within_is_an_error() -> None:
    grammar = glr.Grammar.from_gbnf(
        'root ::= "[" a "]" | "[" "{" root "}" "]"\na ::= "{" b "}"\nb ::= "1" | "[" root "]"'
    )
    grammar.compile(vocabulary(), limits=glr.Limits(max_nesting=2)).matcher().commit_bytes(b"[{1}]")
    with pytest.raises(glr.GrammarError, match=r"(?s)no text is a sentence.*max_nesting, 1"):
        grammar.compile(vocabulary(), limits=glr.Limits(max_nesting=1))


@pytest.mark.parametrize(
    "text",
    [
        'root ::= e\ne ::= "(" e ")" | "[" e "]" | "{" e "}" | "[[" e "," e "]" | "1" e? ":" | "1"',
        'root ::= e\ne ::= e e | "(" e ")" | "[" e "]" | e "," e | "{" e ":" e "}" | "1"',
        JSON,
    ],
)
def test_each_level_costs_the_same(text: str) -> None:
    """The copies of a rule stay calls as the rule does: substituted in each other they multiply by its uses."""
    states = []
    for levels in range(4, 9):
        limits = glr.Limits(max_nesting=levels)
        states.append(Grammar.from_gbnf(text).compile(vocabulary(), mode="eager", limits=limits).stats.states)
    steps = {after - before for before, after in itertools.pairwise(states)}
    assert len(steps) == 1
    assert steps.pop() <= 16


def test_more_levels_than_states_is_a_budget_error() -> None:
    with pytest.raises(glr.BudgetError, match="2000000000 levels") as caught:
        glr.Grammar.from_gbnf(JSON).compile(vocabulary(), limits=glr.Limits(max_nesting=2_000_000_000))
    assert caught.value.budget == "max_states"


def test_levels_without_number_cost_nothing_where_nothing_recurs() -> None:
    grammar = glr.Grammar.from_gbnf('root ::= "[" "1" "]"')
    constraint = grammar.compile(vocabulary(), limits=glr.Limits(max_nesting=4_000_000_000))
    constraint.matcher().commit_bytes(b"[1]")


def test_a_saved_constraint_keeps_its_budget(tmp_path: object) -> None:
    vocab = vocabulary()
    path = f"{tmp_path}/json.glr"
    glr.Grammar.from_gbnf(JSON).compile(vocab, limits=glr.Limits(max_nesting=2)).save(path)
    loaded = glr.Constraint.load(path, vocab)
    loaded.matcher().commit_bytes(b"[[1]]")
    with pytest.raises(glr.RejectedToken):
        loaded.matcher().commit_bytes(b"[[[")
