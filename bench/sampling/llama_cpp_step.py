"""llama.cpp without any grammar: fill the candidate array, run the default chain.

This is what ``llama_sampler_sample`` does, without a model: 12 bytes a token are written, then
top-k, top-p, min-p, temperature and the draw work on them.
"""

from __future__ import annotations

import ctypes

import llama_cpp
import numpy as np

from . import task

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Unconstrained:
    """The array and the chain, kept between steps as llama.cpp keeps them."""

    def __init__(self, step: task.Step) -> None:
        self._logits = step.logits
        self._ids = np.arange(step.size, dtype=np.int32)
        self._array = np.empty(step.size, dtype=_CANDIDATE)
        self._chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        for link in (
            llama_cpp.llama_sampler_init_top_k(task.TOP_K),
            llama_cpp.llama_sampler_init_top_p(task.TOP_P, 1),
            llama_cpp.llama_sampler_init_min_p(task.MIN_P, 1),
            llama_cpp.llama_sampler_init_temp(task.TEMPERATURE),
            llama_cpp.llama_sampler_init_dist(task.SEED),
        ):
            llama_cpp.llama_sampler_chain_add(self._chain, link)

    def __del__(self) -> None:
        llama_cpp.llama_sampler_free(self._chain)

    def run(self) -> int:
        self._array["id"] = self._ids
        self._array["logit"] = self._logits
        self._array["p"] = 0.0
        data = ctypes.cast(self._array.ctypes.data, ctypes.POINTER(llama_cpp.llama_token_data))
        candidates = llama_cpp.llama_token_data_array(data=data, size=len(self._array), selected=-1, sorted=False)
        llama_cpp.llama_sampler_apply(self._chain, ctypes.byref(candidates))
        return int(candidates.data[candidates.selected].id)
