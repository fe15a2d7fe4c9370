"""JSON Schemas as Python objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._core import Grammar


def schema_text(schema: Any) -> str:
    """The JSON text of a schema: a mapping, a boolean, or a pydantic model class or type adapter.

    TypeError for anything else, ValueError for a mapping that holds what is no JSON.
    """
    for method in ("model_json_schema", "json_schema"):  # of a model class; of a type adapter
        describe = getattr(schema, method, None)
        if callable(describe):
            schema = describe()
            break
    if not isinstance(schema, Mapping | bool):
        raise TypeError(f"a schema is JSON text, a dict or a pydantic model class, not {type(schema).__name__}")
    return json.dumps(schema, ensure_ascii=False, allow_nan=False)


def json_object(**options: Any) -> Grammar:
    """Any JSON object. `options`: those of Grammar.from_json_schema."""
    return Grammar.from_json_schema({"type": "object"}, **options)
