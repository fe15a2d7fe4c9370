"""tests/data/contextual.json: grammars with the verdicts of Lark's contextual lexer, each of which is also that of the
rule we state (longest match, then priority, then text over pattern)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import glrsampler as glr
import pytest
from lark import Lark
from lark.exceptions import LarkError
from oracle.contextual import accepts

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
