"""Whether arguments meet a tool's schema: jsonschema, with a bound on the time it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from ..errors import Error
from ..patterns import searched
from ._packages import jsonschema, referencing
from .canonical import canonical

# Their keys are searched for with Python's own expressions, which can take exponential time.
_REFUSED: Final = ("patternProperties",)


class _TooLong(Exception):
    """The checks of one call are used up."""


# How many checks are left of the call that is being looked at. Schemas that refer to themselves from two alternatives
# double them with each level of the arguments; 100,000 take about a second.
_MAX_CHECKS: Final = 100_000
_left: ContextVar[list[int]] = ContextVar("_left")


def _counted(check: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        left = _left.get()
        left[0] -= 1
        if left[0] < 0:
            raise _TooLong
        return check(*arguments)

    return run


def _unique(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    # jsonschema compares each pair where the items cannot be sorted.
    if wanted and isinstance(instance, list) and len(set(map(canonical, instance))) < len(instance):
        yield jsonschema.ValidationError("an item stands twice")


def _search(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not searched(pattern).matches(instance):
        yield jsonschema.ValidationError("the text does not match the pattern")


_BASE: Final = jsonschema.Draft202012Validator
_CHECKS: Final = {**_BASE.VALIDATORS, "pattern": _search, "uniqueItems": _unique}
_Validator = jsonschema.validators.extend(_BASE, {name: _counted(check) for name, check in _CHECKS.items()})


class Checker:
    """Decides whether arguments meet `schema`."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        # An empty registry: jsonschema's own would fetch what a reference names.
        self._validator = _Validator(schema, registry=referencing.Registry(), format_checker=_Validator.FORMAT_CHECKER)

    def check_schema(self) -> None:
        """ValueError when arguments could not be checked by this schema."""
        try:
            _BASE.check_schema(self._schema)
        except jsonschema.SchemaError as error:
            raise ValueError(f"{_pointer(error.absolute_path)}: {error.message}") from None
        for at, name, value in _keywords(self._schema):
            if name in _REFUSED:
                raise ValueError(f"{at}: {name} is not checked here")
            if name == "pattern" and isinstance(value, str):
                try:
                    searched(value)
                except Error as error:
                    raise ValueError(f"{at}: {error}") from None

    def fault(self, arguments: Any) -> str:
        """What is wrong with the arguments, with a JSON pointer and without their text; "" when they are right."""
        _left.set([_MAX_CHECKS])
        try:
            errors = sorted(self._validator.iter_errors(arguments), key=lambda error: list(map(str, error.path)))
        except _TooLong:
            return f"#: not decided after {_MAX_CHECKS} checks"
        except Exception as error:
            # Whatever cannot be decided is no.
            return f"#: {type(error).__name__} while they were checked"
        if not errors:
            return ""
        return f"{_pointer(errors[0].absolute_path)}: {errors[0].validator or 'pattern'} is not met"


def _pointer(path: Any) -> str:
    return "".join(["#", *("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)])


def _keywords(schema: Any) -> Iterator[tuple[str, str, Any]]:
    """Every member of every object in the schema, with where it stands; keys of `properties` too, which errs on the
    side of refusing."""
    waiting: list[tuple[str, Any]] = [("#", schema)]
    while waiting:
        at, value = waiting.pop()
        if isinstance(value, dict):
            for key, member in value.items():
                yield at, key, member
                waiting.append((f"{at}/{key}", member))
        elif isinstance(value, list):
            waiting += [(f"{at}/{index}", item) for index, item in enumerate(value)]
