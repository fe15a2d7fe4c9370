"""JSON Schemas as Python objects."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ._core import Grammar
from .errors import SchemaError

_DEEPEST = 400  # what the reader of schemas takes; a schema that contains itself is deeper
_MOST_BITS = 4_000  # of a whole number: 1,200 digits, and what Python writes without a special permission


def schema_text(schema: Any) -> str:
    """The JSON text of a schema: a mapping, a boolean, or a pydantic model class or type adapter.

    TypeError for anything else; SchemaError, with the JSON pointer, for a mapping that holds what is no JSON.
    """
    for method in ("model_json_schema", "json_schema"):  # of a model class; of a type adapter
        describe = getattr(schema, method, None)
        if callable(describe):
            schema = describe()
            break
    if not isinstance(schema, Mapping | bool):
        raise TypeError(f"a schema is JSON text, a dict or a pydantic model class, not {type(schema).__name__}")
    _refuse_what_is_no_json(schema)
    return json.dumps(schema, ensure_ascii=False, allow_nan=False, default=dict)


def _refuse_what_is_no_json(schema: Any) -> None:
    open_values: list[tuple[Any, str, int]] = [(schema, "#", 0)]
    while open_values:
        value, pointer, depth = open_values.pop()
        if depth > _DEEPEST:
            hint = "put the inner levels into $defs and refer to them; a dict that contains itself has no end"
            raise SchemaError(f"schema: nesting of more than {_DEEPEST} levels\nhint: {hint}", hint=hint)
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise _no_json(f"{pointer}: key {key!r}", pointer, "the keys of an object are strings")
                _refuse_surrogates(key, pointer)
                step = key.replace("~", "~0").replace("/", "~1")
                open_values.append((inner, f"{pointer}/{step}", depth + 1))
        elif isinstance(value, list | tuple):
            open_values.extend((inner, f"{pointer}/{i}", depth + 1) for i, inner in enumerate(value))
        elif isinstance(value, str):
            _refuse_surrogates(value, pointer)
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise _no_json(f"{pointer}: {value!r}", pointer, "JSON has finite numbers only: leave the keyword out")
        elif isinstance(value, int):
            if value.bit_length() > _MOST_BITS:
                size = f"{pointer}: a number of {value.bit_length()} bits"
                raise _no_json(size, pointer, f"at most {_MOST_BITS} bits can be written out")
        elif value is not None:
            kind = type(value).__name__
            raise _no_json(f"{pointer}: a value of type {kind}", pointer, "JSON has no such type: convert it")


def _refuse_surrogates(text: str, pointer: str) -> None:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise _no_json(f"{pointer}: the text {text!r}", pointer, "it holds half of a surrogate pair: decode it first")


def _no_json(what: str, pointer: str, hint: str) -> SchemaError:
    return SchemaError(f"schema{what} is no JSON\nhint: {hint}", pointer, hint)


def json_object(**options: Any) -> Grammar:
    """Any JSON object. `options`: those of Grammar.from_json_schema."""
    return Grammar.from_json_schema({"type": "object"}, **options)
