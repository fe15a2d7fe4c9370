"""Ours: mask, pipeline and commit of a constrained step."""

from __future__ import annotations

import glrsampler as glr

from . import task


class Constrained:
    """``glrsampler.Sampler`` under one of the task's grammars."""

    def __init__(self, step: task.Step, vocabulary: glr.Vocabulary, gbnf: str) -> None:
        constraint = glr.Grammar.from_gbnf(gbnf).compile(vocabulary)
        self._sampler = glr.Sampler(
            constraint,
            temperature=task.TEMPERATURE,
            top_k=task.TOP_K,
            top_p=task.TOP_P,
            min_p=task.MIN_P,
            seed=task.SEED,
        )
        self._logits = step.logits

    def run(self) -> int:
        token = self._sampler.sample(self._logits)
        if not self._sampler.accept(token):
            raise RuntimeError(f"token {token} was sampled but not accepted")
        return token


def vocabulary(size: int) -> glr.Vocabulary:
    """``size`` tokens, the last of which ends the text."""
    tokens = [task.token_bytes(i) for i in range(size - 1)] + [b""]
    return glr.Vocabulary.from_tokens(tokens, end_tokens=[size - 1])
