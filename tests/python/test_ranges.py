"""Numbers out of range are errors that name the argument, the value and the range; none is cut to fit."""

from __future__ import annotations

import re
from typing import Any

import glrsampler as glr
import numpy as np
import pytest

HUGE = 1 << 70
SIGNED = (-(1 << 31), (1 << 31) - 1)


@pytest.fixture(scope="module")
def constraint(letters: glr.Vocabulary) -> glr.Constraint:
    return glr.Grammar.from_gbnf("root ::= [a-z]+").compile(letters)


def refused(argument: str, value: int, least: int, most: int) -> Any:
    return pytest.raises(ValueError, match=re.escape(f"{argument}: {value} is not between {least} and {most}"))


@pytest.mark.parametrize("value", [HUGE, -HUGE, 1 << 31, -(1 << 31) - 1])
@pytest.mark.parametrize("argument", ["top_k", "penalty_last_n"])
def test_settings(constraint: glr.Constraint, argument: str, value: int) -> None:
    with refused(argument, value, *SIGNED):
        glr.Sampler(constraint, **{argument: value})  # type: ignore[arg-type]  # one of two
    with refused("forbidden_tokens", value, *SIGNED):
        glr.Sampler(constraint, forbidden_tokens=[0, value])


@pytest.mark.parametrize("value", [-1, 1 << 64, HUGE, -HUGE])
def test_seeds(constraint: glr.Constraint, llm: glr.Llama, value: int) -> None:
    with refused("seed", value, 0, (1 << 64) - 1):
        glr.Sampler(constraint, seed=value)
    sampler = glr.Sampler(constraint, seed=(1 << 64) - 1)
    assert sampler.seed == (1 << 64) - 1
    with refused("seed", value, 0, (1 << 64) - 1):
        sampler.restarted(value)
    with refused("seed", value, 0, (1 << 64) - 1):
        llm("a", sampler=sampler, seed=value)


def test_what_numpy_counts_with_is_an_int(constraint: glr.Constraint) -> None:
    sampler = glr.Sampler(constraint, top_k=np.int64(7), seed=np.uint64(9), forbidden_tokens=np.array([1, 2]))  # type: ignore[arg-type]  # as users do
    assert (sampler.settings["top_k"], sampler.seed, sampler.settings["forbidden_tokens"]) == (7, 9, [1, 2])
    for other in (1.5, "1", None):
        with pytest.raises(TypeError):
            glr.Sampler(constraint, top_k=other)  # type: ignore[arg-type]  # the error is what is tested


def test_rollback(constraint: glr.Constraint) -> None:
    sampler, matcher = glr.Sampler(constraint), constraint.matcher()
    for target in (sampler, matcher):
        for count in (1, 1 << 63, HUGE):
            with pytest.raises(IndexError):
                target.rollback(count)  # type: ignore[attr-defined]  # both have it
    with refused("tokens", -1, 0, (1 << 64) - 1):
        sampler.rollback(-1)
    with refused("commits", -HUGE, 0, (1 << 64) - 1):
        matcher.rollback(-HUGE)


@pytest.mark.parametrize("budget", ["max_states", "max_transitions", "max_bytes", "max_nesting"])
def test_limits(budget: str) -> None:
    most = (1 << 32) - 1 if budget == "max_nesting" else (1 << 64) - 1
    for value in (-1, most + 1):
        with refused(budget, value, 0, most):
            glr.Limits(**{budget: value})  # type: ignore[arg-type]  # one of four


def test_grammars() -> None:
    for value in (0, -1, 1 << 32):
        with refused("max_digits", value, 1, (1 << 32) - 1):
            glr.Grammar.from_json_schema({"type": "number"}, max_digits=value)
    for least, most in ((HUGE, None), (0, HUGE), (0, (1 << 32) - 1)):
        with refused("min" if most is None else "max", least if most is None else most, 0, (1 << 32) - 2):
            glr.repeat("a", least, most).grammar()
    with refused("token", HUGE, 0, (1 << 32) - 1):
        glr.special_token(HUGE).grammar()


@pytest.mark.parametrize("token", [-1, HUGE, 1 << 31, 10**6])
def test_tokens_of_a_prompt(llm: glr.Llama, vocabulary: glr.Vocabulary, token: int) -> None:
    sampler = glr.Sampler(glr.Grammar.from_gbnf("root ::= [a-z]").compile(vocabulary))
    message = f"prompt: {token} is no token of the model, which has {llm.n_vocab()}"
    with pytest.raises(ValueError, match=message):
        glr.generate(llm, [1, token, 2], sampler)
    with pytest.raises(ValueError, match=message):
        next(llm.generate([1, token], sampler=sampler))


def test_limits_of_a_generation(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = glr.Sampler(glr.Grammar.from_gbnf("root ::= [a-z]").compile(vocabulary))
    with pytest.raises(ValueError, match="max_tokens: -5 is not at least 0"):
        glr.generate(llm, "a", sampler, max_tokens=-5)
    with pytest.raises(TypeError, match="max_tokens: expected an int, not float"):
        glr.generate(llm, "a", sampler, max_tokens=1.5)  # type: ignore[arg-type]  # the error is what is tested
    assert glr.generate(llm, "a", sampler, max_tokens=HUGE).status == "complete"
    for stop in (b"ab", [b"ab"], [3]):
        with pytest.raises(TypeError, match=r"stop: expected str, not (bytes|int)"):
            glr.generate(llm, "a", sampler, stop=stop)  # type: ignore[arg-type]  # the error is what is tested


ROW = np.zeros(28, dtype=np.float32)
ROW[16] = 5.0


@pytest.mark.parametrize(
    "row",
    [
        ROW, ROW.astype(np.float64), ROW.astype(np.float16), ROW.astype(np.int8), ROW.astype(">f4"), ROW.tolist(),
        np.stack([ROW, ROW], 1)[:, 0], ROW[::-1].copy()[::-1], np.concatenate([ROW, ROW + 100]),
        np.frombuffer(b"\0" + ROW.tobytes(), dtype=np.uint8)[1:].view(np.float32),
    ],
    ids=["float32", "float64", "float16", "int8", "big-endian", "list", "column", "reversed", "padded", "unaligned"],
)  # fmt: skip
def test_logits_of_any_kind_of_number(constraint: glr.Constraint, row: Any) -> None:
    assert glr.Sampler(constraint, temperature=0.0).sample(row) == 16


@pytest.mark.parametrize(
    "row",
    [
        None, "x", b"x" * 28, 3.0, [None] * 28, ["a"] * 28, ROW.astype(complex), ROW.astype(object), {},
        [[1.0], [1, 2]], np.zeros(28, dtype="M8[s]"), np.zeros(28, dtype=[("a", "f4")]), ROW[:-1], ROW[:0], ROW[None],
        iter(ROW),
    ],
)  # fmt: skip
def test_what_is_no_row_of_logits(constraint: glr.Constraint, row: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^logits: "):
        glr.Sampler(constraint).sample(row)
