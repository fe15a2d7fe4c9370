"""Calls that must not be executed, each with the code that says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from declared_tools import lookup, search, text_of, transfer
from glrsampler.reasons import Reason
from glrsampler.tools import FORMATS, Envelope

OLDER = "0" * 64


def call(arguments: Any = None, **changes: Any) -> str:
    """The text of a right call of `lookup`, apart from the changes."""
    return text_of(lookup, {"city": "Oslo"} if arguments is None else arguments, **changes)


RIGHT = call()
TRANSFER = text_of(transfer, {"account": "x", "amount": 1})


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
    Case("a call inside of an argument", call({"city": text_of(transfer, {"account": "x", "amount": 1})}), ARGUMENTS),
    Case("outside of an enumeration", text_of(search, {"query": "x", "kind": "film"}), ARGUMENTS),
    Case("above the maximum", text_of(transfer, {"account": "x", "amount": 101}), ARGUMENTS, confirm=lambda _: True),
    Case("below the minimum", text_of(transfer, {"account": "x", "amount": 0}), ARGUMENTS, confirm=lambda _: True),
    # The name stands outside.
    Case("functionary: no name", FUNCTION.partition(">")[2], MALFORMED, {"chat_format": FUNCTIONARY}),
    Case("functionary: a name inside too", 'lookup>{"name":"transfer",' + FUNCTION.partition("{")[2], FIELDS,
         {"chat_format": FUNCTIONARY}),
    Case("functionary: unknown tool", FUNCTION.replace("lookup", "shell"), Reason.UNKNOWN_TOOL,
         {"chat_format": FUNCTIONARY}),
    # Authorisation.
    Case("nobody to ask", TRANSFER, Reason.CONFIRMATION_MISSING),
    Case("a reading tool that is not automatic", text_of(search, {"query": "x"}), Reason.CONFIRMATION_MISSING),
    Case("no", TRANSFER, Reason.NOT_CONFIRMED, confirm=lambda _: False),
    Case("None", TRANSFER, Reason.NOT_CONFIRMED, confirm=lambda _: None),
    Case("1 is not True", TRANSFER, Reason.NOT_CONFIRMED, confirm=lambda _: 1),
    Case("a text is not True", TRANSFER, Reason.NOT_CONFIRMED, confirm=lambda _: "yes"),
    Case("asking fails", TRANSFER, Reason.CONFIRMATION_FAILED, confirm=refuse),
]  # fmt: skip
