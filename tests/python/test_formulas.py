"""Penalties, temperature and cut-offs against llama.cpp's own samplers, in the order of the contract."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import glrsampler as glr
import llama_cpp
import numpy as np
import pytest

TOKENS = 64
DRAWS = 3000
ANY = glr.Grammar.from_gbnf("root ::= [A-z]*")


def constraint() -> glr.Constraint:
    # Letters and, as the last token, the end: every token is always allowed.
    letters = [bytes([65 + i]) for i in range(TOKENS - 1) if 65 + i <= 122]
    letters += [bytes([65 + i]) * 2 for i in range(TOKENS - 1 - len(letters))]
    return ANY.compile(glr.Vocabulary.from_tokens([*letters, b""], [TOKENS - 1], {TOKENS - 1: "</s>"}))


def by_llama_cpp(
    logits: np.ndarray,
    said: Sequence[int],
    *,
    temperature: float,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repeat_penalty: float = 1.0,
    frequency_penalty: float = 0.0,
    presence_penalty: float = 0.0,
    penalty_last_n: int = 64,
) -> np.ndarray:
    """What is left of the probabilities, by token id."""
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    for link in (
        llama_cpp.llama_sampler_init_penalties(
            TOKENS, penalty_last_n, repeat_penalty, frequency_penalty, presence_penalty
        ),
        llama_cpp.llama_sampler_init_temp(temperature),
        llama_cpp.llama_sampler_init_top_k(top_k),
        llama_cpp.llama_sampler_init_top_p(top_p, 1),
        llama_cpp.llama_sampler_init_min_p(min_p, 1),
    ):
        llama_cpp.llama_sampler_chain_add(chain, link)
    for token in said:
        llama_cpp.llama_sampler_accept(chain, token)
    data = (llama_cpp.llama_token_data * TOKENS)(*((i, float(logits[i]), 0.0) for i in range(TOKENS)))
    array = llama_cpp.llama_token_data_array(data=data, size=TOKENS, selected=-1, sorted=False)
    llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
    left = {array.data[i].id: float(array.data[i].logit) for i in range(array.size)}
    llama_cpp.llama_sampler_free(chain)
    shares = np.zeros(TOKENS)
    for token, logit in left.items():
        shares[token] = np.exp(logit - max(left.values()))
    return shares / shares.sum()


SETTINGS: list[dict[str, float]] = [
    {"temperature": 1.0},
    {"temperature": 0.6},
    {"temperature": 1.7, "top_k": 5},
    {"temperature": 0.8, "top_p": 0.6},
    {"temperature": 1.0, "min_p": 0.2},
    {"temperature": 0.7, "top_k": 12, "top_p": 0.9, "min_p": 0.05},
    {"temperature": 1.0, "repeat_penalty": 1.3},
    {"temperature": 1.0, "repeat_penalty": 0.8, "penalty_last_n": 3},
    {"temperature": 1.0, "frequency_penalty": 0.7},
    {"temperature": 1.0, "presence_penalty": -1.1},
    {"temperature": 0.9, "repeat_penalty": 1.1, "frequency_penalty": 0.3, "presence_penalty": 0.4, "top_p": 0.8},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("row", range(3))
def test_the_distribution_is_llama_cpps(settings: dict[str, float], row: int) -> None:
    rng = np.random.default_rng(row)
    logits = rng.normal(scale=2.0, size=TOKENS).astype(np.float32)
    said = [int(t) for t in rng.integers(0, TOKENS - 1, 6)]
    said += said[:2]
    expected = by_llama_cpp(logits, said, **settings)  # type: ignore[arg-type]  # ints are given as such
    defaults = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
    compiled = constraint()
    counts = np.zeros(TOKENS)
    for seed in range(DRAWS):
        sampler = glr.Sampler(compiled, seed=seed, **{**defaults, **settings})  # type: ignore[arg-type]  # the same
        for token in said:
            sampler.accept(token)
        counts[sampler.sample(logits)] += 1
    assert not counts[expected == 0].any(), "a token that llama.cpp cuts off"
    # Five standard deviations of a binomial count, and one for the rounding to whole draws.
    spread = np.sqrt(DRAWS * expected * (1 - expected))
    assert np.all(np.abs(counts - DRAWS * expected) <= 5 * spread + 1)


@pytest.mark.parametrize("row", range(20))
def test_penalties_move_the_best_token_as_in_llama_cpp(row: int) -> None:
    rng = np.random.default_rng(100 + row)
    logits = rng.normal(scale=1.0, size=TOKENS).astype(np.float32)
    said = [int(t) for t in np.argsort(-logits)[:8] if t != TOKENS - 1]
    settings = {"repeat_penalty": 1.0 + row / 10, "frequency_penalty": row / 20, "presence_penalty": 0.1}
    expected = by_llama_cpp(logits, said, temperature=1.0, top_k=1, **settings)  # type: ignore[arg-type]  # floats all
    sampler = glr.Sampler(constraint(), temperature=0.0, **settings)  # type: ignore[arg-type]  # floats all
    for token in said:
        sampler.accept(token)
    assert sampler.sample(logits) == int(np.argmax(expected))
