"""The product against the oracle: one walk through a grammar, everything a matcher says checked at every step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import glrsampler as glr
import numpy as np

from oracle.earley import ModelToken, Recogniser
from oracle.gbnf import parse
from oracle.longest_match import Reader
from oracle.random_grammars import Case

Oracle = Recogniser | Reader

REGRESSIONS = Path(__file__).parents[1] / "data" / "regressions.json"


class Disagreement(AssertionError):
    """The product and the oracle differ; the message has all that is needed to do it again."""


def vocabulary_of(case: Case) -> glr.Vocabulary:
    return glr.Vocabulary.from_tokens(
        [token.data for token in case.tokens],
        end_tokens=list(case.end_tokens),
        special_tokens=case.special_tokens(),
    )


def tokens_in(words: np.ndarray[Any, Any], size: int) -> set[int]:
    """The members of a mask. Bits beyond the vocabulary must not be set."""
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert not bits[size:].any(), "bits beyond the vocabulary"
    return set(np.flatnonzero(bits).tolist())


def forced_bytes(recogniser: Oracle, here: Any) -> bytes:
    """Byte after byte while there is exactly one way to go on: no end, no token literal, no other byte."""
    text = b""
    while not here.accepting and not here.next_literals() and len(options := here.next_bytes()) == 1:
        (byte,) = options
        text += bytes((byte,))
        here = recogniser.advance_byte(here, byte)
    return text


@dataclass
class Walk:
    """A matcher and the oracle, side by side on one sequence of tokens."""

    case: Case
    recogniser: Oracle
    constraint: glr.Constraint
    rng: Random

    def __post_init__(self) -> None:
        self.matcher = self.constraint.matcher()
        self.here: Any = self.recogniser.initial  # a place of the recogniser
        self.taken: list[int] = []
        self.masks: list[np.ndarray[Any, Any]] = []

    def expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            raise Disagreement(
                f"{what}: {found}\noracle: {wanted}\n{self.case.describe()}\nwalk: {self.taken} = "
                f"{[self.case.tokens[t].data or self.case.tokens[t].name for t in self.taken]}"
            )

    def step(self, token: int) -> None:
        self.matcher.commit(token)
        self.taken.append(token)
        if token not in self.case.end_tokens:
            self.here = self.recogniser.advance(self.here, self.case.tokens[token])

    def check(self) -> set[int]:
        """Compares everything at this place; returns the allowed tokens."""
        m, size = self.matcher, len(self.case.tokens)
        wanted = self.recogniser.allowed(self.here) | set(self.case.end_tokens if self.here.accepting else ())
        if self.rng.random() < 0.5:  # masks may be computed before or after the same walk through commits
            self.brute_force(wanted)
        words = m.mask()
        self.expect("mask", tokens_in(words, size), wanted)
        self.brute_force(wanted)
        self.expect("accepting", m.accepting, self.here.accepting)
        self.expect("finished", m.finished, False)
        self.expect("allowed_tokens", list(m.allowed_tokens()), sorted(wanted))
        self.expect("allowed_count", m.allowed_count, len(wanted))
        self.expect("allows", {t for t in range(-1, size + 1) if m.allows(t)}, wanted)
        self.expect("forced_bytes", m.forced_bytes(), forced_bytes(self.recogniser, self.here))
        for token in set(range(size)) - wanted:
            self.expect(f"try_commit({token})", m.try_commit(token), False)
        out = np.full_like(words, 0xFFFFFFFF)
        m.mask(out=out)
        self.expect("mask after refused tokens", tokens_in(out, size), wanted)
        self.masks.append(words)
        return wanted

    def brute_force(self, wanted: set[int]) -> None:
        tried = {token for token in range(len(self.case.tokens)) if self.matcher.fork().try_commit(token)}
        self.expect("tokens that can be committed", tried, wanted)

    def check_end(self) -> None:
        """Nothing is allowed after an end token, and it can be taken back."""
        before = self.matcher.mask()
        self.matcher.commit(self.rng.choice(self.case.end_tokens))
        self.expect("finished after the end", self.matcher.finished, True)
        self.expect("mask after the end", tokens_in(self.matcher.mask(), len(self.case.tokens)), set())
        self.expect("forced bytes after the end", self.matcher.forced_bytes(), b"")
        self.matcher.rollback(1)
        self.expect("finished after rollback", self.matcher.finished, False)
        self.expect("mask after rollback", self.matcher.mask().tolist(), before.tolist())

    def check_history(self) -> None:
        """Going back, forking and starting again give the masks that were there before, bit for bit."""
        steps = len(self.taken)
        back = self.rng.randrange(steps + 1)
        other = self.matcher.fork()
        self.matcher.rollback(back)
        self.expect(f"mask after rollback({back})", self.matcher.mask().tolist(), self.masks[steps - back].tolist())
        for i, token in enumerate(self.taken[steps - back :], start=steps - back + 1):
            self.matcher.commit(token)
            self.expect(f"mask {i} the second time", self.matcher.mask().tolist(), self.masks[i].tolist())
        other.reset()
        self.expect("mask after reset", other.mask().tolist(), self.masks[0].tolist())
        self.expect("mask of the matcher that was forked", self.matcher.mask().tolist(), self.masks[-1].tolist())
        if "<" not in self.case.grammar:  # no token literal: only the bytes count, not how they were cut
            text = b"".join(self.case.tokens[t].data for t in self.taken)
            other.commit_bytes(text)
            self.expect("mask after the same text as bytes", other.mask().tolist(), self.masks[-1].tolist())


def random_walks(case: Case, walks: int, steps: int = 8) -> None:
    """Checks `walks` random walks of a case. Raises Disagreement."""
    if case.no_sentence:
        try:
            glr.Grammar.from_gbnf(case.grammar).compile(vocabulary_of(case))
        except glr.GrammarError:
            return
        raise Disagreement(f"a grammar without a sentence was taken\n{case.describe()}")
    recogniser = Recogniser(parse(case.grammar), vocabulary=case.tokens)
    constraint = glr.Grammar.from_gbnf(case.grammar).compile(vocabulary_of(case))
    compare(case, recogniser, constraint, walks, steps)


def random_lexer_walks(case: Case, reader: Reader, walks: int, steps: int = 6) -> None:
    """The same for a Lark grammar whose terminals match longest, in every mode, and loaded.

    Some have very many states: eager compilation gives up on them.
    """
    vocabulary = vocabulary_of(case)
    constraints = []
    for mode in ("lazy", "eager", "background"):
        try:
            grammar = glr.Grammar.from_lark(case.grammar)
            constraints.append(grammar.compile(vocabulary, mode=mode, limits=glr.Limits(max_states=4000)))
        except glr.GrammarError:
            if case.no_sentence:
                return
            raise
        except glr.BudgetError:
            if mode == "lazy":
                raise
    if case.no_sentence:
        raise Disagreement(f"a grammar without a sentence was taken\n{case.describe()}")
    for constraint in constraints:
        compare(case, reader, constraint, walks, steps)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "constraint"
        constraints[0].save(path)
        compare(case, reader, glr.Constraint.load(path, vocabulary), walks, steps)


def compare(case: Case, recogniser: Oracle, constraint: glr.Constraint, walks: int, steps: int) -> None:
    for number in range(walks):
        walk = Walk(case, recogniser, constraint, Random(f"{case.seed}/{number}"))
        options = walk.check() - set(case.end_tokens)
        for _ in range(steps):
            if not options:
                break
            walk.step(walk.rng.choice(sorted(options)))
            options = walk.check() - set(case.end_tokens)
        if walk.here.accepting:
            walk.check_end()
        walk.check_history()


def regressions() -> list[tuple[Case, list[int]]]:
    """Cases that failed once, each with its walk."""
    cases = []
    for entry in json.loads(REGRESSIONS.read_text()):
        special = {int(id): name for id, name in entry["special_tokens"].items()}
        ends = tuple(entry["end_tokens"])
        tokens = tuple(
            ModelToken(id, bytes.fromhex(data), special.get(id, ""), special=id in special or id in ends)
            for id, data in enumerate(entry["tokens"])
        )
        cases.append((Case(-1, entry["grammar"], tokens, ends), entry["walk"]))
    return cases


def replay(case: Case, tokens: list[int]) -> None:
    """Checks one walk again, step by step."""
    constraint = glr.Grammar.from_gbnf(case.grammar).compile(vocabulary_of(case))
    walk = Walk(case, Recogniser(parse(case.grammar), vocabulary=case.tokens), constraint, Random(0))
    walk.check()
    for token in tokens:
        walk.step(token)
        walk.check()
    walk.check_history()
