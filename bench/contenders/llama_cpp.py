"""llama.cpp's own grammar sampler, on an array of all candidates that is filled anew outside the timing."""

from __future__ import annotations

import ctypes
from typing import Any

import llama_cpp
import numpy as np

from ..vocabularies import Tokens
from .contender import Sequence, Unsupported


class LlamaCpp:
    formats = ("gbnf", "json_schema")

    def __init__(self, vocabulary: Tokens) -> None:
        if vocabulary.path is None:
            raise ImportError("llama.cpp reads vocabularies from GGUF files only")
        self._model = llama_cpp.Llama(vocabulary.path, vocab_only=True, verbose=False)
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model._model.model)
        self._size = len(vocabulary.tokens)
        self._ends = list(vocabulary.ends)
        self._data = (llama_cpp.llama_token_data * self._size)()
        self._view: Any = np.ctypeslib.as_array(self._data)
        self._fresh = self._view.copy()
        self._fresh["id"] = np.arange(self._size)
        self._held: list[Any] = []

    def __del__(self) -> None:
        for sampler in getattr(self, "_held", ()):
            llama_cpp.llama_sampler_free(sampler)

    def renew(self) -> None:
        return

    def compile(self, form: str, grammar: str) -> Any:
        if form == "json_schema":
            from llama_cpp.llama_grammar import json_schema_to_gbnf

            grammar = json_schema_to_gbnf(grammar)
        elif form != "gbnf":
            raise Unsupported(form)
        sampler = llama_cpp.llama_sampler_init_grammar(self._vocabulary, grammar.encode(), b"root")
        if not sampler:
            raise ValueError("llama_sampler_init_grammar returned no sampler")
        self._held.append(sampler)
        return sampler

    def start(self, constraint: Any) -> Sequence:
        view, fresh, ends = self._view, self._fresh, self._ends
        llama_cpp.llama_sampler_reset(constraint)
        array = llama_cpp.llama_token_data_array(data=self._data, size=self._size, selected=-1, sorted=False)
        pointer = ctypes.byref(array)

        def prepare() -> None:
            view[:] = fresh

        def mask() -> None:
            llama_cpp.llama_sampler_apply(constraint, pointer)

        def accepting() -> bool:
            prepare()
            mask()
            return bool(np.any(view["logit"][ends] != -np.inf))

        return Sequence(
            mask=mask,
            commit=lambda token: llama_cpp.llama_sampler_accept(constraint, token),
            allowed=lambda: view["logit"] != -np.inf,
            accepting=accepting,
            prepare=prepare,
        )

    def size(self, constraint: Any) -> int | None:
        return None
