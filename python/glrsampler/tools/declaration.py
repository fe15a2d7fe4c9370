"""What a tool is: a function, and everything that is promised about it before a model may ask for it."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .._core import Grammar
from ..errors import Error, SchemaError, ToolError
from ..schemas import schema_text
from . import strict_json
from .arguments import Checker
from .canonical import digest
from .envelope import call_schema
from .signature import schema_of

#: "read": calling it twice, or when nobody wanted it, does no harm. "write": it changes something somewhere.
Capability = Literal["read", "write"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]{0,31}")
_MAX_DESCRIPTION: Final = 1024  # characters; every one is in every prompt
_MAX_TIMEOUT: Final = 3600.0


@dataclass(frozen=True, eq=False)
class Tool:
    """A declared tool; made by `tool`. Calling it calls the function, past every check.

    A tool that stands at the top level of a module is pickled by its name, so it reaches a process of its own without
    any code being sent.
    """

    name: str
    version: str
    capability: Capability
    description: str
    #: JSON text of the arguments' schema: a text, since what was hashed must not change. The model writes the
    #: properties in its order.
    schema_text: str
    #: SHA-256 of the schema's canonical form, in which keys are sorted.
    schema_hash: str
    #: Seconds for one call, counted from when its process is ready. Not enforced where isolated is False.
    timeout: float
    #: Of the result's canonical JSON text.
    max_bytes: int
    #: Runs in a process of its own, which is ended when it takes too long.
    isolated: bool
    function: Callable[..., Any] = field(repr=False)
    #: A pydantic model class for the arguments: the function then takes one instance of it.
    model: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # What pickle looks at for an object that is known by its name.
        for attribute in ("__module__", "__qualname__", "__doc__"):
            object.__setattr__(self, attribute, getattr(self.function, attribute, ""))

    def __reduce__(self) -> str:
        return str(getattr(self, "__qualname__", self.name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments; a fresh copy."""
        value: dict[str, Any] = json.loads(self.schema_text)
        return value

    @functools.cached_property
    def checker(self) -> Checker:
        """What decides whether arguments meet the schema."""
        return Checker(self.schema)

    def run(self, arguments: dict[str, Any]) -> Any:
        """Calls the function with arguments that were checked."""
        if self.model is not None:
            return self.function(self.model.model_validate(arguments))
        return self.function(**arguments)


def tool(
    *,
    version: str,
    capability: Capability,
    timeout: float = 10.0,
    max_bytes: int = 16_384,
    schema: Any = None,
    name: str | None = None,
    description: str | None = None,
    isolated: bool = True,
) -> Callable[[Callable[..., Any]], Tool]:
    """Declares a function as a tool.

    Args:
        version: changes whenever what the function does changes.
        capability: "write" for anything that changes a state outside of the call; each call then waits for a yes.
        timeout: seconds for one call.
        max_bytes: of the result.
        schema: of the arguments: a JSON Schema, or a pydantic model class, of which the function then takes one
            instance. Without it the function's types say it, see `signature.schema_of`.
        name: what the model calls it; the function's name by default.
        description: what the model reads about it; the first paragraph of the docstring by default.
        isolated: False lets the function run in the caller's process, without a time limit: only for what is bounded
            by itself and changes nothing of the process.

    ToolError for a name, version or limit out of bounds, and for a schema that has no canonical form, is outside of
    the strict profile (docs/json_schema.md), or does not fit the function.
    """

    def declare(function: Callable[..., Any]) -> Tool:
        label = name if name is not None else getattr(function, "__name__", "")
        if not _NAME.fullmatch(label):
            raise ToolError(f"tool {label!r}: a name is up to 64 letters, digits, _ and -, a letter first")
        if not _VERSION.fullmatch(version):
            raise ToolError(f"tool {label}: a version is up to 32 letters, digits and . _ + -, not {version!r}")
        if capability not in ("read", "write"):
            raise ToolError(f"tool {label}: the capability is 'read' or 'write', not {capability!r}")
        if not 0.0 < timeout <= _MAX_TIMEOUT:
            raise ToolError(f"tool {label}: the timeout is above 0 and at most {_MAX_TIMEOUT:.0f} seconds")
        if max_bytes < 1:
            raise ToolError(f"tool {label}: max_bytes must be positive")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise ToolError(f"tool {label}: a tool is a plain function, neither async nor a generator")
        said = _description(function) if description is None else description
        if len(said) > _MAX_DESCRIPTION:
            raise ToolError(f"tool {label}: the description has more than {_MAX_DESCRIPTION} characters")
        text, schema_hash = _read_schema(label, schema_of(function) if schema is None else schema)
        model = schema if isinstance(schema, type) else None
        declared = Tool(
            label, version, capability, said, text, schema_hash, float(timeout), max_bytes, isolated,
            function, model,
        )  # fmt: skip
        _check(declared)
        return declared

    return declare


def _description(function: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _read_schema(label: str, schema: Any) -> tuple[str, str]:
    """The schema's text and the hash of its canonical form."""
    try:
        text = schema if isinstance(schema, str) else schema_text(schema)
        return text, digest(strict_json.parse(text))
    except (SchemaError, TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"tool {label}: the schema has no canonical form: {error}") from None


def _check(declared: Tool) -> None:
    schema = declared.schema
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ToolError(f'tool {declared.name}: the schema of the arguments must have "type": "object"')
    try:
        Grammar.from_json_schema(
            call_schema(declared.name, declared.version, schema, declared.schema_hash),
            profile="strict",
            whitespace="compact",
        )
    except Error as error:
        raise ToolError(f"tool {declared.name}: the schema cannot be kept to exactly: {error}") from error
    try:
        declared.checker.check_schema()
    except ValueError as error:
        raise ToolError(f"tool {declared.name}: the schema cannot be checked: {error}") from None
    if declared.model is None:
        _check_parameters(declared, schema)


def _check_parameters(declared: Tool, schema: dict[str, Any]) -> None:
    """The function can be called with whatever the schema admits."""
    try:
        signature = inspect.signature(declared.function)
        properties, required = schema.get("properties", {}), schema.get("required", [])
        signature.bind(**dict.fromkeys(properties))
        signature.bind(**dict.fromkeys(required))
    except (TypeError, ValueError) as error:
        raise ToolError(f"tool {declared.name}: the function does not fit the schema: {error}") from None
