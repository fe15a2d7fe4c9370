"""Calls that must not be executed (tests/adversarial_calls.py): refused with their codes, and nothing runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import glrsampler.tools
import jsonschema
import pytest
from adversarial_calls import CASES, FUNCTION, FUNCTIONARY, RIGHT, Case
from declared_tools import lookup, misbehave, text_of
from glrsampler.reasons import Reason
from glrsampler.tools import Broker, Manifest, tool

EVIDENCE = jsonschema.Draft202012Validator(
    json.loads((Path(glrsampler.tools.__file__).parent / "evidence.schema.json").read_text(encoding="utf-8"))
)


def test_the_corpus_is_large_and_its_names_are_its_own() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_right_call_runs(broker: Callable[..., Broker], ran: list[Any]) -> None:
    """What the cases change."""
    made = broker()
    outcome = made.execute(RIGHT, made.issue())
    assert (outcome.reason, outcome.result) == (Reason.EXECUTED, {"city": "Oslo", "days": 1})
    assert ran == [("lookup", {"city": "Oslo", "days": 1})]
    outcome = made.execute(FUNCTION, made.issue(), chat_format=FUNCTIONARY)
    assert outcome.executed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused_with_its_code_and_nothing_ran(case: Case, broker: Callable[..., Broker], ran: list[Any]) -> None:
    made = broker(case.confirm)
    request = made.issue(case.allowed)
    outcome = made.execute(case.text, request, **case.options)
    assert outcome.reason is case.reason, outcome.error
    assert not outcome.executed
    assert outcome.result is None
    assert outcome.error
    assert ran == []
    assert outcome.evidence["code"] == case.reason.code
    assert outcome.evidence["authorisation"] == "none"
    assert json.loads(outcome.text())["error"] == case.reason.value
    EVIDENCE.validate(outcome.evidence)
    # There is no second try.
    assert made.execute(RIGHT, request).reason is Reason.REPLAYED_REQUEST
    assert ran == []


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", Reason.TOOL_FAILED), ("exit", Reason.TOOL_FAILED), ("recurse", Reason.TOOL_FAILED),
        ("stranger", Reason.TOOL_FAILED),
        ("large", Reason.RESULT_TOO_LARGE), ("nan", Reason.RESULT_INVALID), ("infinity", Reason.RESULT_INVALID),
        ("set", Reason.RESULT_INVALID), ("bytes", Reason.RESULT_INVALID), ("integer", Reason.RESULT_INVALID),
        ("key", Reason.RESULT_INVALID), ("surrogate", Reason.RESULT_INVALID), ("object", Reason.RESULT_INVALID),
        ("deep", Reason.RESULT_INVALID), ("largest fit", Reason.EXECUTED), ("double", Reason.EXECUTED),
    ],
)  # fmt: skip
def test_what_a_tool_does_wrong_is_a_record(
    how: str, reason: Reason, broker: Callable[..., Broker], ran: list[Any]
) -> None:
    made = broker()
    outcome = made.execute(text_of(misbehave, {"how": how}), made.issue())
    assert outcome.reason is reason, outcome.error
    assert ran
    assert json.loads(outcome.text())
    assert outcome.evidence["authorisation"] == "automatic"
    EVIDENCE.validate(outcome.evidence)


def test_a_call_of_an_older_manifest_is_refused(ran: list[Any]) -> None:
    """The same name and version with another schema: the hash tells."""

    @tool(version="2", capability="read", isolated=False, name="lookup")
    def older(city: str) -> str:
        """Looks up the weather of a city."""
        raise AssertionError(city)

    then, now = Broker(Manifest([older]), automatic=["lookup"]), Broker(Manifest([lookup]), automatic=["lookup"])
    assert then.manifest.hash != now.manifest.hash
    assert now.execute(text_of(older, {"city": "Oslo"}), now.issue()).reason is Reason.SCHEMA_MISMATCH
    assert now.execute(RIGHT, then.issue()).reason is Reason.UNKNOWN_REQUEST
    assert ran == []
