"""How long masks and commits take for one grammar and one vocabulary.

What is timed is one call each through the Python interface, with the garbage collector off. The first pass is by a
constraint that nothing was asked of yet; of the later passes each token's fastest counts.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._core import Constraint, Matcher, Vocabulary

#: Percentiles that are shown.
POINTS: tuple[tuple[str, float], ...] = (
    ("p50", 50.0),
    ("p90", 90.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
    ("max", 100.0),
)


#: Tokens of a random text. Most tokens stay inside a string when one is open, so a long walk never leaves the first.
LONGEST_WALK = 100


@dataclass(frozen=True)
class Times:
    """Nanoseconds, one entry for each token."""

    masks: Sequence[int]
    commits: Sequence[int]

    def percentiles(self) -> dict[str, dict[str, float]]:
        """Microseconds at POINTS, of masks, commits and both together."""
        both = [mask + commit for mask, commit in zip(self.masks, self.commits, strict=True)]
        return {
            name: {point: float(np.percentile(times, at)) / 1e3 for point, at in POINTS}
            for name, times in (("mask", self.masks), ("commit", self.commits), ("mask + commit", both))
            if times
        }


@dataclass(frozen=True)
class Latency:
    """`first`: the first pass; `warm`: the fastest of the others."""

    first: Times
    warm: Times


def cut(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """The text in tokens, the longest that fits taken from the left again and again: no tokenizer is needed, and
    runs of bytes are as long as the vocabulary allows. Raises ValueError for a byte that is no token."""
    ids: dict[bytes, int] = {}
    for token in range(len(vocabulary)):
        ids.setdefault(vocabulary.token_bytes(token), token)
    ids.pop(b"", None)
    longest = vocabulary.longest_token
    tokens: list[int] = []
    at = 0
    while at < len(text):
        size = next((n for n in range(min(longest, len(text) - at), 0, -1) if text[at : at + n] in ids), 0)
        if size == 0:
            raise ValueError(f"no token of the vocabulary begins with the byte {text[at]:#04x} at offset {at}")
        tokens.append(ids[text[at : at + size]])
        at += size
    return tokens


def wander(constraint: Constraint, count: int, seed: int) -> list[list[int]]:
    """`count` tokens in all, each drawn among those allowed, in sequences of up to LONGEST_WALK."""
    source = random.Random(seed)
    ends = set(constraint.vocabulary.end_tokens)
    sequences: list[list[int]] = []
    matcher = constraint.matcher()
    taken = 0
    while taken < count:
        sequence: list[int] = []
        while taken < count and len(sequence) < LONGEST_WALK:
            allowed = matcher.allowed_tokens()
            token = int(allowed[source.randrange(len(allowed))]) if len(allowed) else -1
            if token < 0 or token in ends:
                break
            matcher.commit(token)
            sequence.append(token)
            taken += 1
        if not sequence:
            break  # the empty text is the only one
        sequences.append(sequence)
        matcher.reset()
    return sequences


def measure(constraint: Constraint, sequences: Sequence[Sequence[int]], passes: int) -> Latency:
    """Takes every sequence from the start, `passes` times. Raises RejectedToken when one is not allowed."""
    buffer = np.zeros((len(constraint.vocabulary) + 31) // 32, dtype=np.uint32)
    results: list[Times] = []
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(passes):
            masks: list[int] = []
            commits: list[int] = []
            for sequence in sequences:
                _take(constraint.matcher(), sequence, buffer, masks, commits)
            results.append(Times(masks, commits))
    finally:
        if enabled:
            gc.enable()
    later = results[1:] or results
    fastest = Times(
        [min(times) for times in zip(*(r.masks for r in later), strict=True)],
        [min(times) for times in zip(*(r.commits for r in later), strict=True)],
    )
    return Latency(results[0], fastest)


def _take(
    matcher: Matcher, sequence: Sequence[int], buffer: npt.NDArray[np.uint32], masks: list[int], commits: list[int]
) -> None:
    clock, mask, commit = time.perf_counter_ns, matcher.mask, matcher.commit
    for token in sequence:
        t0 = clock()
        mask(buffer)
        t1 = clock()
        commit(token)
        t2 = clock()
        masks.append(t1 - t0)
        commits.append(t2 - t1)
