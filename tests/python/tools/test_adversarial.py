"""Calls that must not be executed, each with the code that says why; and that nothing ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from declared_tools import lookup, misbehave, search, transfer
from glrsampler.reasons import Reason
from glrsampler.tools import FORMATS, Broker, Envelope, Manifest, tool

OLDER = "0" * 64


def call(arguments: Any = None, **changes: Any) -> str:
    """The text of a right call of `lookup`, apart from the changes; a field that is None is left out."""
    fields = {
        "name": "lookup",
        "arguments": {"city": "Oslo"} if arguments is None else arguments,
        "version": lookup.version,
        "schema": lookup.schema_hash,
        **changes,
    }
    return json.dumps({key: value for key, value in fields.items() if value is not None})


def of(declared: Any, arguments: Any) -> str:
    return call(arguments, name=declared.name, version=declared.version, schema=declared.schema_hash)


RIGHT = call()


@dataclass(frozen=True)
class Case:
    name: str
    text: str | bytes
    reason: Reason
    #: Of Broker.execute.
    options: dict[str, Any] = field(default_factory=dict)
    #: Of Broker.
    confirm: Callable[[Envelope], Any] | None = None
    allowed: tuple[str, ...] | None = None


def refuse(_: Envelope) -> bool:
    raise RuntimeError("the terminal has gone")


def wrapped(declared_call: str) -> str:
    return json.dumps({"city": declared_call})


MALFORMED, FIELDS, ARGUMENTS = Reason.CALL_MALFORMED, Reason.CALL_FIELDS, Reason.INVALID_ARGUMENTS
LLAMA, FUNCTIONARY = FORMATS["llama"], FORMATS["functionary"]
FUNCTION = f'lookup>{{"arguments":{{"city":"Oslo"}},"version":"2","schema":"{lookup.schema_hash}"}}'

CASES = [
    # Cut off.
    Case("cut off by a limit", RIGHT, Reason.CALL_INCOMPLETE, {"complete": False}),
    Case("nothing came", "", Reason.CALL_INCOMPLETE, {"complete": False}),
    Case("the last bracket is missing", RIGHT[:-1], MALFORMED),
    Case("cut within the arguments", RIGHT[:40], MALFORMED),
    # No JSON, or JSON in two readings.
    Case("empty", "", MALFORMED),
    Case("white space", " \n", MALFORMED),
    Case("words", "please call lookup for Oslo", MALFORMED),
    Case("Python", "lookup(city='Oslo')", MALFORMED),
    Case("single quotes", RIGHT.replace('"', "'"), MALFORMED),
    Case("a comment", RIGHT + " // yes", MALFORMED),
    Case("a comma too many", RIGHT[:-1] + ",}", MALFORMED),
    Case("two calls", RIGHT + RIGHT, MALFORMED),
    Case("two calls, a line each", RIGHT + "\n" + RIGHT, MALFORMED),
    Case("words before", "Sure! " + RIGHT, MALFORMED),
    Case("words after", RIGHT + " done", MALFORMED),
    Case("a list of calls", f"[{RIGHT}]", MALFORMED),
    Case("a string with a call in it", json.dumps(RIGHT), MALFORMED),
    Case("a number", "1", MALFORMED),
    Case("null", "null", MALFORMED),
    Case("the marker is in the payload", f"<tool_call>{RIGHT}</tool_call>", MALFORMED),
    Case("not UTF-8", RIGHT.encode() + b"\xff", MALFORMED),
    Case("UTF-16", RIGHT.encode("utf-16"), MALFORMED),
    Case("a byte-order mark", "\ufeff" + RIGHT, MALFORMED),
    Case("a lone surrogate", RIGHT.replace("Oslo", "\ud800"), MALFORMED),
    Case("an escaped lone surrogate", RIGHT.replace("Oslo", "\\ud800"), MALFORMED),
    Case("a control character", RIGHT.replace("Oslo", "Os\x00lo"), MALFORMED),
    Case("NaN", RIGHT.replace('"Oslo"', "NaN"), MALFORMED),
    Case("infinity", RIGHT.replace('"Oslo"', "-Infinity"), MALFORMED),
    Case("an exponent that makes infinity", RIGHT.replace('"Oslo"', '"Oslo", "days": 1e999'), MALFORMED),
    Case("an integer that a double does not hold", RIGHT.replace('"Oslo"', f'"Oslo", "days": {2**53}'), MALFORMED),
    Case("an integer of 10,000 digits", RIGHT.replace('"Oslo"', f'"Oslo", "days": {"9" * 10_000}'), MALFORMED),
    Case("the name twice", RIGHT[:-1] + ', "name": "transfer"}', MALFORMED),
    Case("the name twice, once escaped", RIGHT[:-1] + ', "n\\u0061me": "transfer"}', MALFORMED),
    Case("an argument twice", RIGHT.replace('"Oslo"', '"Oslo", "city": "Rome"'), MALFORMED),
    Case("nested 60,000 deep", "[" * 60_000, MALFORMED),
    Case("nested in the arguments", RIGHT.replace('"Oslo"', "[" * 100 + "]" * 100), MALFORMED),
    # Fields.
    Case("no name", call(name=None), FIELDS),
    Case("no version", call(version=None), FIELDS),
    Case("no hash", call(schema=None), FIELDS),
    Case("only a name", '{"name": "lookup"}', FIELDS),
    Case("an empty object", "{}", FIELDS),
    Case("a field more", call(note="x"), FIELDS),
    Case("the host's request", call(request="0" * 32), FIELDS),
    Case("the host's session", call(session="s"), FIELDS),
    Case("authorises itself", call(authorisation="confirmed"), FIELDS),
    Case("parameters for arguments", RIGHT.replace("arguments", "parameters"), FIELDS),
    Case("arguments for parameters", RIGHT, FIELDS, {"chat_format": LLAMA}),
    Case("arguments are a string", call('{"city": "Oslo"}'), FIELDS),
    Case("arguments are a list", call(["Oslo"]), FIELDS),
    Case("the name is a number", call(name=1), FIELDS),
    Case("the version is a number", call(version=2), FIELDS),
    Case("the hash is a list", call(schema=[lookup.schema_hash]), FIELDS),
    Case("the name is an object", call(name={"const": "lookup"}), FIELDS),
    # Size.
    Case("too large", RIGHT + " " * 70_000, Reason.CALL_TOO_LARGE),
    Case("few characters, too many bytes", RIGHT.replace("Oslo", "\u65e5" * 30_000), Reason.CALL_TOO_LARGE),
    # Which tool.
    Case("unknown tool", call(name="shell"), Reason.UNKNOWN_TOOL),
    Case("a name of Python's", call(name="__import__"), Reason.UNKNOWN_TOOL),
    Case("a name of Python's objects", call(name="__class__"), Reason.UNKNOWN_TOOL),
    Case("a dotted name", call(name="os.system"), Reason.UNKNOWN_TOOL),
    Case("another case of letters", call(name="Lookup"), Reason.UNKNOWN_TOOL),
    Case("a space after the name", call(name="lookup "), Reason.UNKNOWN_TOOL),
    Case("a letter that looks like another", call(name="l\u043eokup"), Reason.UNKNOWN_TOOL),
    Case("not allowed for this request", RIGHT, Reason.TOOL_NOT_ALLOWED, allowed=("search",)),
    Case("nothing is allowed", RIGHT, Reason.TOOL_NOT_ALLOWED, allowed=()),
    Case("an older version", call(version="1"), Reason.VERSION_MISMATCH),
    Case("no version at all", call(version=""), Reason.VERSION_MISMATCH),
    Case("the hash of an older schema", call(schema=OLDER), Reason.SCHEMA_MISMATCH),
    Case("the hash of another tool", call(schema=search.schema_hash), Reason.SCHEMA_MISMATCH),
    Case("the hash in capitals", call(schema=lookup.schema_hash.upper()), Reason.SCHEMA_MISMATCH),
    Case("a part of the hash", call(schema=lookup.schema_hash[:32]), Reason.SCHEMA_MISMATCH),
    # Arguments.
    Case("no arguments", call({}), ARGUMENTS),
    Case("an unknown argument", call({"city": "Oslo", "shell": "rm"}), ARGUMENTS),
    Case("another tool's arguments", call({"query": "Oslo"}), ARGUMENTS),
    Case("a number for a text", call({"city": 1}), ARGUMENTS),
    Case("null for a text", call({"city": None}), ARGUMENTS),
    Case("a list for a text", call({"city": ["Oslo"]}), ARGUMENTS),
    Case("a text for a number", call({"city": "Oslo", "days": "1"}), ARGUMENTS),
    Case("true for a number", call({"city": "Oslo", "days": True}), ARGUMENTS),
    Case("a fraction for an integer", call({"city": "Oslo", "days": 1.5}), ARGUMENTS),
    Case("too long", call({"city": "a" * 21}), ARGUMENTS),
    Case("outside of the pattern", call({"city": "Oslo; rm -rf /"}), ARGUMENTS),
    Case("a line end that Python's $ lets through", call({"city": "Oslo\n"}), ARGUMENTS),
    Case("an object with __class__", call({"city": {"__class__": "str"}}), ARGUMENTS),
    Case("a call inside of an argument", call({"city": of(transfer, {"account": "x", "amount": 1})}), ARGUMENTS),
    Case("outside of an enumeration", of(search, {"query": "x", "kind": "film"}), ARGUMENTS),
    Case("above the maximum", of(transfer, {"account": "x", "amount": 101}), ARGUMENTS, confirm=lambda _: True),
    Case("below the minimum", of(transfer, {"account": "x", "amount": 0}), ARGUMENTS, confirm=lambda _: True),
    # The name stands outside.
    Case("functionary: no name", FUNCTION.partition(">")[2], MALFORMED, {"chat_format": FUNCTIONARY}),
    Case("functionary: a name inside too", 'lookup>{"name":"transfer",' + FUNCTION.partition("{")[2], FIELDS,
         {"chat_format": FUNCTIONARY}),
    Case("functionary: unknown tool", FUNCTION.replace("lookup", "shell"), Reason.UNKNOWN_TOOL,
         {"chat_format": FUNCTIONARY}),
    # Authorisation.
    Case("nobody to ask", of(transfer, {"account": "x", "amount": 1}), Reason.CONFIRMATION_MISSING),
    Case("a reading tool that is not automatic", of(search, {"query": "x"}), Reason.CONFIRMATION_MISSING),
    Case("no", of(transfer, {"account": "x", "amount": 1}), Reason.NOT_CONFIRMED, confirm=lambda _: False),
    Case("None", of(transfer, {"account": "x", "amount": 1}), Reason.NOT_CONFIRMED, confirm=lambda _: None),
    Case("1 is not True", of(transfer, {"account": "x", "amount": 1}), Reason.NOT_CONFIRMED, confirm=lambda _: 1),
    Case("'yes' is not True", of(transfer, {"account": "x", "amount": 1}), Reason.NOT_CONFIRMED, confirm=lambda _: "y"),
    Case("asking fails", of(transfer, {"account": "x", "amount": 1}), Reason.CONFIRMATION_FAILED, confirm=refuse),
]  # fmt: skip


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
    # There is no second try.
    assert made.execute(RIGHT, request).reason is Reason.REPLAYED_REQUEST
    assert ran == []


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", Reason.TOOL_FAILED), ("exit", Reason.TOOL_FAILED), ("recurse", Reason.TOOL_FAILED),
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
    outcome = made.execute(of(misbehave, {"how": how}), made.issue())
    assert outcome.reason is reason, outcome.error
    assert ran
    assert json.loads(outcome.text())
    assert outcome.evidence["authorisation"] == "automatic"


def test_a_call_of_an_older_manifest_is_refused(ran: list[Any]) -> None:
    """The same name and version with another schema: the hash tells."""

    @tool(version="2", capability="read", isolated=False, name="lookup")
    def older(city: str) -> str:
        """Looks up the weather of a city."""
        raise AssertionError(city)

    then, now = Broker(Manifest([older]), automatic=["lookup"]), Broker(Manifest([lookup]), automatic=["lookup"])
    assert then.manifest.hash != now.manifest.hash
    assert now.execute(of(older, {"city": "Oslo"}), now.issue()).reason is Reason.SCHEMA_MISMATCH
    assert now.execute(RIGHT, then.issue()).reason is Reason.UNKNOWN_REQUEST
    assert ran == []
