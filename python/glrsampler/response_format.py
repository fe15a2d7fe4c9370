"""`response_format` of OpenAI's chat interface, as a grammar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._core import Grammar
from .errors import SchemaError
from .schemas import json_object


def response_grammar(response_format: Any) -> Grammar | None:
    """The grammar that a response_format asks for; None when it asks for none (absent, or of the type text).

    `{"type": "json_object"}` takes a `schema` beside it, as llama-cpp-python does; `{"type": "json_schema"}` has one
    in `json_schema.schema`. ValueError for any other, SchemaError for a schema that cannot be kept.
    """
    if response_format is None:
        return None
    kind = response_format.get("type") if isinstance(response_format, Mapping) else None
    if kind == "text":
        return None
    if kind == "json_object":
        schema = response_format.get("schema")
        return json_object() if schema is None else Grammar.from_json_schema(schema)
    if kind == "json_schema":
        described = response_format.get("json_schema")
        if not isinstance(described, Mapping) or "schema" not in described:
            raise SchemaError("response_format of the type json_schema has no json_schema.schema")
        return Grammar.from_json_schema(described["schema"])
    raise ValueError(f"response_format: the type is one of text, json_object and json_schema, not {kind!r}")
