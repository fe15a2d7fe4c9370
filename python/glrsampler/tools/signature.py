"""The JSON Schema of a typed Python function's arguments."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from ..errors import ToolError

_SIMPLE: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """A closed object with a property for each parameter; those with a default are optional.

    Types: str, bool, int, float, None, Literal, list[...], unions, TypedDict, and Annotated[..., {keywords}] to add
    keywords such as "maxLength". ToolError for anything else.
    """
    name = getattr(function, "__qualname__", repr(function))
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolError(f"{name}: its annotations cannot be read ({error})") from None
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolError(f"{name}: the parameter {parameter} cannot be given by its name")
        if parameter.name not in hints:
            raise ToolError(f"{name}: the parameter {parameter.name!r} has no type")
        properties[parameter.name] = _schema(hints[parameter.name], f"{name}: the parameter {parameter.name!r}")
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return _closed(properties, required)


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema(hint: Any, place: str) -> dict[str, Any]:
    # Recursion on the depth of a type that the program's author wrote.
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _schema(arguments[0], place)
        for extra in arguments[1:]:
            if isinstance(extra, Mapping):
                schema.update(extra)
        return schema
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], place)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(argument, place) for argument in arguments]}
    if typing.is_typeddict(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        properties = {key: _schema(value, f"{place}, key {key!r}") for key, value in fields.items()}
        return _closed(properties, sorted(hint.__required_keys__, key=list(fields).index))
    raise ToolError(f"{place} is of the type {hint!r}, which has no JSON Schema here; give tool(schema=...) one")
