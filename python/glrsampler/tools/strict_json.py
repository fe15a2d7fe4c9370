"""JSON in one reading: what two readers could take for two different values is refused."""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 64  # arrays and objects in each other; the strict profile has 16
_MAX_INTEGER: Final = 2**53 - 1


def parse(text: str) -> Any:
    """The value of a JSON text.

    ValueError for what is no JSON, for repeated keys, NaN and infinities (also those that a large exponent makes),
    integers that a double does not hold, lone surrogates, and nesting beyond MAX_DEPTH.
    """
    _check_depth(text)
    value = json.loads(
        text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float
    )
    # An escape can spell half of a code point, which no UTF-8 has.
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _check_depth(text: str) -> None:
    depth = 0
    inside = escaped = False
    for character in text:
        if inside:
            inside = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"nested deeper than {MAX_DEPTH}")
        elif character in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > _MAX_INTEGER:
        raise ValueError("an integer that a double does not hold")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number that a double does not hold")
    return value
