"""One byte string for each JSON value (RFC 8785), and its SHA-256."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ._packages import rfc8785


def canonical(value: Any) -> bytes:
    """The canonical JSON text of `value`: keys sorted, numbers as ECMAScript writes them, no white space.

    ValueError for what has none: NaN, infinities, integers that a double does not hold, lone surrogates, what is no
    JSON value.
    """
    try:
        return bytes(rfc8785.dumps(value))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no canonical JSON: {error}") from None


def from_canonical(text: str | bytes) -> Any:
    """The value of a canonical text: `canonical` gives the same text again.

    A double from 2^53 on is written with all its places before the point, and is not the integer that they spell.
    """
    return json.loads(text, parse_int=lambda digits: value if abs(value := int(digits)) < 2**53 else float(digits))


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, as lower-case hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()
