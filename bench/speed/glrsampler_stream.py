"""The model under this library."""

from __future__ import annotations

from collections.abc import Iterator

import glrsampler as glr

from . import task


class GlrSampler:
    def __init__(self, llm: glr.Llama, gbnf: str) -> None:
        self._llm = llm
        constraint = glr.Grammar.from_gbnf(gbnf).compile(glr.Vocabulary.from_llama(llm))
        self._sampler = glr.Sampler(
            constraint,
            temperature=task.TEMPERATURE,
            top_k=task.TOP_K,
            top_p=task.TOP_P,
            min_p=task.MIN_P,
            seed=task.SEED,
        )

    def steps(self, prompt: str) -> Iterator[int]:
        for event in glr.stream(self._llm, prompt, self._sampler):
            if event.tokens:
                yield len(event.tokens)
