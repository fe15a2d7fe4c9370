"""The model alone, with llama-cpp-python's own sampling loop."""

from __future__ import annotations

from collections.abc import Iterator

import glrsampler as glr
import llama_cpp

from . import task


class Unconstrained:
    def __init__(self, llm: glr.Llama) -> None:
        self._llm = llm

    def steps(self, prompt: str) -> Iterator[int]:
        yield from generated(self._llm, prompt, None)


def generated(llm: glr.Llama, prompt: str, grammar: llama_cpp.LlamaGrammar | None) -> Iterator[int]:
    llm.set_seed(task.SEED)
    ids = llm.tokenize(prompt.encode(), special=True)
    for token in llm.generate(
        ids, temp=task.TEMPERATURE, top_k=task.TOP_K, top_p=task.TOP_P, min_p=task.MIN_P, grammar=grammar
    ):
        if llama_cpp.llama_vocab_is_eog(llm._model.vocab, token):
            return
        yield 1
