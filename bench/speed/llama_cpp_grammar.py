"""The model under llama.cpp's own grammar sampler."""

from __future__ import annotations

from collections.abc import Iterator

import glrsampler as glr
import llama_cpp

from .unconstrained import generated


class LlamaCppGrammar:
    def __init__(self, llm: glr.Llama, gbnf: str) -> None:
        self._llm = llm
        self._gbnf = gbnf

    def steps(self, prompt: str) -> Iterator[int]:
        # A grammar sampler keeps its place in the text, so each run has its own.
        yield from generated(self._llm, prompt, llama_cpp.LlamaGrammar.from_string(self._gbnf, verbose=False))
