"""What a contender is to the scenarios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Unsupported(Exception):
    """The contender has no reader for this kind of grammar."""


@dataclass(frozen=True)
class Sequence:
    """One sequence of tokens under a constraint. `mask` and `commit` are one native call each and are what is
    timed; nothing else is."""

    mask: Callable[[], object]  # computes the mask into a buffer of the contender's
    commit: Callable[[int], object]  # takes a token that the mask allows
    allowed: Callable[[], NDArray[np.bool_]]  # the last mask, by token id
    accepting: Callable[[], bool]
    prepare: Callable[[], object] | None = None  # before each mask


class Contender(Protocol):
    """A vocabulary, prepared once, for which grammars are compiled."""

    #: Formats it reads, the one that suits it best first: "gbnf", "lark", "json_schema".
    formats: tuple[str, ...]

    def compile(self, form: str, grammar: str) -> Any:
        """A constraint. Raises Unsupported, or whatever the engine raises for a grammar it does not take."""
        ...

    def start(self, constraint: Any) -> Sequence:
        """A new sequence."""
        ...

    def size(self, constraint: Any) -> int | None:
        """Bytes of a constraint as the engine itself counts them, when it does."""
        ...

    def renew(self) -> None:
        """Forgets what earlier grammars left in the prepared vocabulary, where the engine keeps such things."""
        ...


def bits(words: NDArray[Any], size: int) -> NDArray[np.bool_]:
    """A packed mask, bit i % 32 of word i // 32, as one entry a token."""
    return np.unpackbits(words.view(np.uint8), bitorder="little")[:size].astype(bool)


def words(size: int, kind: type[np.signedinteger[Any]] | type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    return np.zeros((size + 31) // 32, dtype=kind)
