"""Checking a text against a JSON Schema after it was written, by the package jsonschema.

A grammar admits no text that its schema forbids, so for text that was generated under that schema this finds nothing,
unless something was left out with on_unsupported="warn". It is the second opinion, and the way to check other text.
Nothing is repaired and nothing is generated again.
"""

from __future__ import annotations

import decimal
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .schemas import schema_text

if TYPE_CHECKING:
    from .generation import Result

#: The keyword of schemas whose strings are pieces of a source document.
SOURCE_SPAN = "x-source-span"

# Numbers written as integers with an exponent beyond it stay decimals: 1e999999999 has no room as an integer.
_LONGEST_INTEGER = 4_000


@dataclass(frozen=True, slots=True)
class Violation:
    """Something in a text that its schema does not allow.

    `pointer`: JSON pointer of the value in the text. `rule`: JSON pointer of the keyword in the schema, or "json" where
    the text is no JSON, or "duplicate key". `message`: a sentence; it may quote the value.
    """

    pointer: str
    rule: str
    message: str


def validate(result: Result | str | bytes, schema: Any, source: str | None = None) -> list[Violation]:
    """What in a text is not as the schema says; empty when all is well.

    Args:
        result: what `generate` returned, or a text.
        schema: as for Grammar.from_json_schema.
        source: the document that strings marked "x-source-span" are pieces of. Without it they are not compared.

    Numbers are compared as decimals, not as doubles. Formats are not checked. ImportError without the package
    jsonschema.
    """
    return check(result if isinstance(result, str | bytes) else result.text, schema, source)[0]


def source_spans(result: Result | str | bytes, schema: Any, source: str) -> dict[str, tuple[int, int]]:
    """Where in `source` the strings marked "x-source-span" stand: (start, end) in characters, by JSON pointer.

    The first place where there are several. Strings that are not in the source are left out.
    """
    return check(result if isinstance(result, str | bytes) else result.text, schema, source)[1]


def check(text: str | bytes, schema: Any, source: str | None) -> tuple[list[Violation], dict[str, tuple[int, int]]]:
    """The violations and the source spans of a text."""
    rules = schema if isinstance(schema, str | bytes) else schema_text(schema)
    document = _Document()
    try:
        value = document.read(text)
    except (ValueError, RecursionError) as error:
        return [Violation("", "json", str(error))], {}
    spans: dict[str, tuple[int, int]] = {}
    validator = _validator(_Document().read(rules), source, spans)
    found = list(document.duplicates)
    try:
        with decimal.localcontext(prec=_LONGEST_INTEGER):
            found += map(_violation, validator.iter_errors(value))
    except (decimal.DecimalException, RecursionError) as error:
        found.append(Violation("", "json", f"too large to be checked: {type(error).__name__}"))
    return sorted(found, key=lambda v: (v.pointer, v.rule)), spans


class _Text(str):
    """A string that knows where it stands."""

    pointer = ""


class _Document:
    """JSON with exact numbers, strings that know their pointers, and a list of the keys written twice."""

    def __init__(self) -> None:
        self.duplicates: list[Violation] = []

    def read(self, text: str | bytes) -> Any:
        raw = json.loads(text, parse_float=_number, object_pairs_hook=_Pairs, parse_constant=_refuse)
        return self._placed(raw, "")

    def _placed(self, value: Any, pointer: str) -> Any:
        if isinstance(value, _Pairs):
            members: dict[str, Any] = {}
            for key, member in value:
                at = f"{pointer}/{_step(key)}"
                if key in members:
                    self.duplicates.append(Violation(at, "duplicate key", f"the key {key!r} is written more than once"))
                members[key] = self._placed(member, at)
            return members
        if isinstance(value, list):
            return [self._placed(item, f"{pointer}/{i}") for i, item in enumerate(value)]
        if isinstance(value, str):
            placed = _Text(value)
            placed.pointer = pointer
            return placed
        return value


class _Pairs(list[tuple[str, Any]]):
    """The members of an object as written."""


def _number(text: str) -> int | Decimal:
    number = Decimal(text)
    whole = number.is_finite() and number.adjusted() < _LONGEST_INTEGER and number == number.to_integral_value()
    return int(number) if whole else number


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _validator(schema: Any, source: str | None, spans: dict[str, tuple[int, int]]) -> Any:
    try:
        jsonschema = importlib.import_module("jsonschema")
    except ImportError as error:
        raise ImportError("glrsampler.validate needs the package jsonschema: pip install jsonschema") from error

    def source_span(validator: Any, marked: Any, value: Any, schema: Any) -> Iterator[Any]:
        if marked is not True or source is None or not isinstance(value, str):
            return
        start = source.find(value)
        if start < 0:
            yield jsonschema.ValidationError(f"{str(value)!r} is not in the source")
        elif isinstance(value, _Text):
            spans[value.pointer] = (start, start + len(value))

    base = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return jsonschema.validators.extend(base, {SOURCE_SPAN: source_span})(schema)


def _violation(error: Any) -> Violation:
    return Violation(
        "".join(f"/{_step(str(part))}" for part in error.absolute_path),
        "#" + "".join(f"/{_step(str(part))}" for part in error.absolute_schema_path),
        error.message,
    )


def _step(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
