"""Patterns of schemas, searched for by the engine: ECMA-262 as the grammars read it, in linear time."""

from __future__ import annotations

import functools

from ._core import Grammar


@functools.lru_cache(maxsize=256)
def searched(pattern: str) -> Grammar:
    """The texts in which the pattern is found. GrammarError for what is no pattern or not regular."""
    return Grammar.from_regex(f"(?=[^]*?(?:{pattern}))[^]*")
