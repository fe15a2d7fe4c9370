"""Masks, commits and everything else a matcher says, against brute force and the recogniser of tests/oracle.

A triple is (grammar, vocabulary, walk). A failure prints all three; put it into tests/data/regressions.json.
"""

from __future__ import annotations

import itertools

import pytest
from oracle.compare import random_walks, regressions, replay
from oracle.random_grammars import Case, random_case

CHUNKS = 21
TRIPLES = 2100
WALKS = 2


@pytest.mark.parametrize(("case", "walk"), regressions())
def test_what_failed_once(case: Case, walk: list[int]) -> None:
    replay(case, walk)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_walks(chunk: int) -> None:
    triples = 0
    for seed in itertools.count(1_000_000 * chunk):
        case = random_case(seed)
        random_walks(case, WALKS)
        if not case.no_sentence:
            triples += WALKS
        if triples >= TRIPLES // CHUNKS:
            break
