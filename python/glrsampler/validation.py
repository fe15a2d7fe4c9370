"""Checking a text against a JSON Schema after it was written, by the package jsonschema.

A grammar admits no text that its schema forbids, so for text that was generated under that schema this finds nothing,
unless something was left out with on_unsupported="warn". It is the second opinion, and the way to check other text.
Nothing is repaired and nothing is generated again.
"""

from __future__ import annotations

import decimal
import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .errors import Error, SchemaError
from .patterns import searched
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
    except (ValueError, RecursionError, decimal.DecimalException) as error:
        return [Violation("", "json", str(error) or type(error).__name__)], {}
    spans: dict[str, tuple[int, int]] = {}
    validator = _validator(_Document().read(rules), source, spans)
    found = list(document.duplicates)
    try:
        with decimal.localcontext(prec=_LONGEST_INTEGER):
            found += map(_violation, validator.iter_errors(value))
    except (decimal.DecimalException, RecursionError) as error:
        found.append(Violation("", "json", f"too large to be checked: {type(error).__name__}"))
    except Error:
        raise
    except Exception as error:
        # Whatever jsonschema stumbles over: an unknown type, a reference to nowhere, a bound that is no number.
        raise SchemaError(f"the schema cannot be checked with: {type(error).__name__}: {error}") from error
    return sorted(found, key=lambda v: (v.pointer, v.rule)), spans


class _Text(str):
    """A string that knows where it stands."""

    pointer = ""


class _Document:
    """JSON with exact numbers, strings that know their pointers, and a list of the keys written twice."""

    def __init__(self) -> None:
        self.duplicates: list[Violation] = []

    def read(self, text: str | bytes) -> Any:
        raw = json.loads(text, parse_float=_number, parse_int=_number, object_pairs_hook=_Pairs, parse_constant=_refuse)
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
    try:
        number = Decimal(text)
    except decimal.DecimalException:
        raise ValueError("a number with an exponent too large to be checked") from None
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
    checks = {SOURCE_SPAN: source_span, **_mixed_drafts(jsonschema, base)}
    return jsonschema.validators.extend(base, checks)(schema)


def _mixed_drafts(jsonschema: Any, base: Any) -> dict[str, Any]:
    """Keywords as the grammar reads them: of all drafts together, and patterns as ECMA-262 has them."""
    older = jsonschema.Draft7Validator.VALIDATORS
    own = base.VALIDATORS

    def pattern(_: Any, wanted: str, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, str) and not searched(wanted).matches(value):
            yield jsonschema.ValidationError(f"{str(value)!r} does not match {str(wanted)!r}")

    def pattern_properties(validator: Any, patterns: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        for wanted, subschema in patterns.items():
            for key, member in value.items():
                if searched(wanted).matches(key):
                    yield from validator.descend(member, subschema, path=key, schema_path=wanted)

    def additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        patterns = [searched(pattern) for pattern in schema.get("patternProperties", {})]
        for key, member in value.items():
            if key in schema.get("properties", {}) or any(pattern.matches(key) for pattern in patterns):
                continue
            if wanted is False:
                yield jsonschema.ValidationError(f"the additional property {str(key)!r} is not allowed")
            else:
                yield from validator.descend(member, wanted, path=key)

    def items(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        yield from (older if isinstance(wanted, list) else own)["items"](validator, wanted, value, schema) or ()

    def bound(name: str, exclusive: str) -> Callable[..., Iterator[Any]]:
        def check(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
            strict = schema.get(exclusive) is True
            yield from (older[exclusive] if strict else older[name])(validator, wanted, value, schema) or ()

        return check

    def strict_bound(name: str) -> Callable[..., Iterator[Any]]:
        def check(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
            if not isinstance(wanted, bool):  # else it says how `name` is meant
                yield from older[name](validator, wanted, value, schema) or ()

        return check

    def type_(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        long_integer = isinstance(value, Decimal) and value == value.to_integral_value()
        wanted_types = wanted if isinstance(wanted, list) else [wanted]
        nullable = value is None and schema.get("nullable") is True
        if not nullable and not (long_integer and "integer" in wanted_types):
            yield from own["type"](validator, wanted, value, schema) or ()

    return {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "items": items,
        "additionalItems": older["additionalItems"],
        "dependencies": older["dependencies"],
        "maximum": bound("maximum", "exclusiveMaximum"),
        "minimum": bound("minimum", "exclusiveMinimum"),
        "exclusiveMaximum": strict_bound("exclusiveMaximum"),
        "exclusiveMinimum": strict_bound("exclusiveMinimum"),
        "type": type_,
    }


def _violation(error: Any) -> Violation:
    return Violation(
        "".join(f"/{_step(str(part))}" for part in error.absolute_path),
        "#" + "".join(f"/{_step(str(part))}" for part in error.absolute_schema_path),
        error.message,
    )


def _step(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
