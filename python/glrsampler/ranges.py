"""Numbers that callers give: errors that name the argument, the value and the range."""

from __future__ import annotations


def at_least(least: int, name: str, value: object) -> int:
    """An int as it is. ValueError below `least`; TypeError for anything else: nothing is rounded."""
    index = getattr(value, "__index__", None)
    if index is None:
        raise TypeError(f"{name}: expected an int, not {type(value).__name__}")
    number: int = index()
    if number < least:
        raise ValueError(f"{name}: {number} is not at least {least}")
    return number
