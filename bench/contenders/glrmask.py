"""GLRMask: LR parsing with masks compiled ahead, in its default strategy."""

from __future__ import annotations

from typing import Any

import glrmask
import numpy as np

from ..vocabularies import Tokens
from .contender import Sequence, Unsupported, bits, words


class GlrMask:
    formats = ("lark", "json_schema")

    def __init__(self, vocabulary: Tokens) -> None:
        texts = {token: data for token, data in enumerate(vocabulary.tokens) if data}
        self._vocabulary = glrmask.Vocab.from_id_to_bytes(texts)
        self._size = len(vocabulary.tokens)
        self._words = words(self._size, np.int32)

    def renew(self) -> None:
        return

    def compile(self, form: str, grammar: str) -> Any:
        if form == "lark":
            return glrmask.Grammar.from_lark(grammar).compile(self._vocabulary)
        if form == "json_schema":
            return glrmask.Grammar.from_json_schema(grammar).compile(self._vocabulary)
        raise Unsupported(form)

    def start(self, constraint: Any) -> Sequence:
        state, buffer, size = constraint.start(), self._words, self._size
        fill = state.fill_mask
        return Sequence(
            mask=lambda: fill(buffer),
            commit=state.commit_token,
            allowed=lambda: bits(buffer, size),
            accepting=state.is_accepting,
        )

    def size(self, constraint: Any) -> int | None:
        saved = constraint.save()
        return len(saved) if isinstance(saved, bytes) else None
