"""One sampling step: from a row of logits to the next token, the same row for every contender.

The vocabulary is synthetic: token ``i`` is ``a`` or ``b`` (even or odd) and four capitals. A text of such
tokens is always back in the state it began in, so every step has the same mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

VOCABULARY_SIZES: Final = (32_000, 128_256, 262_144)

#: Share of the vocabulary that is allowed -> GBNF.
GRAMMARS: Final = {
    "few": 'root ::= ("aAAAA" | "bAAAA" | "aAAAB" | "bAAAB" | "aAAAC" | "bAAAC" | "aAAAD" | "bAAAD")+',
    "half": 'root ::= ("a" [A-Z]{4})+',
    "all": "root ::= ([ab] [A-Z]{4})+",
}

TEMPERATURE: Final = 0.8
TOP_K: Final = 40
TOP_P: Final = 0.95
MIN_P: Final = 0.05
SEED: Final = 1

#: The aim of docs/design.md: time of ours over time of llama.cpp's unconstrained step.
AIMS: Final = {"few": 1 / 20, "half": 1 / 2, "all": 1 / 2}


@dataclass(frozen=True)
class Step:
    """What a contender is given."""

    size: int
    logits: NDArray[np.float32]

    @classmethod
    def of(cls, size: int) -> Step:
        generator = np.random.default_rng(size)
        logits = generator.normal(0.0, 3.0, size).astype(np.float32)
        logits[-1] = -1000.0  # the end token: a step after it is none
        return cls(size, logits)


class Contender(Protocol):
    """One way to do the step; ``run`` is what is timed."""

    def run(self) -> int:
        """Choose and accept a token."""
        ...


def token_bytes(i: int) -> bytes:
    """The text of token ``i``."""
    digits = bytearray(4)
    rest = i // 2
    for place in range(3, -1, -1):
        rest, digit = divmod(rest, 26)
        digits[place] = ord("A") + digit
    return (b"b" if i % 2 else b"a") + bytes(digits)
