"""The taxonomy of ends: every end has a place in it, and the page that shows it is up to date."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import get_args

import glrsampler as glr
import pytest
from glrsampler import reasons

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
# Names and codes are a promise.
CODES = {
    "end_token": 100, "grammar_end": 101, "stop_string": 110, "max_tokens": 120, "context_full": 121,
    "cancelled": 130, "finished": 140, "nothing_allowed": 141, "all_forbidden": 142, "no_candidate_allowed": 143,
    "model": 150, "grammar": 200, "schema": 201, "budget": 210, "rejected": 220, "vocabulary": 230, "artifact": 231,
    "llama_abi": 232, "internal": 299,
    "executed": 300, "tool_declaration": 301, "call_incomplete": 310, "call_malformed": 311, "call_fields": 312,
    "call_too_large": 313, "unknown_tool": 314, "tool_not_allowed": 315, "version_mismatch": 316,
    "schema_mismatch": 317,
    "invalid_arguments": 318, "unknown_request": 319, "replayed_request": 320, "not_confirmed": 330,
    "confirmation_missing": 331, "confirmation_failed": 332, "confirmation_timeout": 333, "tool_failed": 340,
    "tool_timeout": 341, "tool_crashed": 342, "result_too_large": 343, "result_invalid": 344, "untrusted_token": 350,
}  # fmt: skip


def test_codes_are_fixed() -> None:
    assert {reason.value: reason.code for reason in glr.Reason} == CODES


def test_every_reason_says_what_it_means_and_what_to_do() -> None:
    for reason in glr.Reason:
        assert reason.meaning.endswith(".")
        assert reason.remedy.endswith(".") or "'" in reason.remedy
        assert reason.status in get_args(reasons.Status)
        assert (reason.code >= 200) <= (reason.status == "error") or reason is glr.Reason.EXECUTED
        assert glr.Reason[reason.name] == reason.value


def test_the_page_is_the_enum() -> None:
    assert PAGE.read_text(encoding="utf-8") == reasons.table()


def test_every_error_has_a_reason_of_its_own() -> None:
    errors = importlib.import_module("glrsampler.errors")
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, glr.Error)]
    found = {c.reason for c in classes}
    assert len(found) == len(classes)
    # What refuses a call is the reason of an outcome, and not raised.
    raised = {glr.Reason.TOOL_DECLARATION, glr.Reason.UNTRUSTED_TOKEN}
    assert found == {reason for reason in glr.Reason if 200 <= reason.code < 300} | raised


def test_raised_errors_carry_it(letters: glr.Vocabulary) -> None:
    with pytest.raises(glr.Error) as error:
        glr.Grammar.from_gbnf("root ::= (")
    assert error.value.reason is glr.Reason.GRAMMAR
    with pytest.raises(glr.Error) as error:
        glr.Grammar.from_json_schema({"type": "no such type"})
    assert error.value.reason is glr.Reason.SCHEMA
    with pytest.raises(glr.Error) as error:
        glr.Grammar.from_gbnf("root ::= [a-c]{9}").compile(letters, "eager", glr.Limits(max_states=1))
    assert error.value.reason is glr.Reason.BUDGET
    matcher = glr.Grammar.from_gbnf('root ::= "a"').compile(letters).matcher()
    with pytest.raises(glr.Error) as error:
        matcher.commit(1)
    assert error.value.reason is glr.Reason.REJECTED


def test_every_dead_end_of_the_core_is_a_reason() -> None:
    stub = (Path(glr.__file__).parent / "_core.pyi").read_text(encoding="utf-8")
    names = stub[stub.index("def dead_end") :].split("Literal[")[1].split("]")[0]
    assert {name.strip(' "') for name in names.split(",")} - {""} <= set(glr.Reason)
