"""llguidance: Earley's algorithm over a lexer of derivatives, the vocabulary walked for each mask."""

from __future__ import annotations

from typing import Any

import llguidance
import numpy as np

from ..vocabularies import Tokens, longest_first
from .contender import Sequence, Unsupported, bits, words


class _Tokenizer:
    """A vocabulary in the shape that llguidance's wrapper wants."""

    bos_token_id = None

    def __init__(self, vocabulary: Tokens) -> None:
        self.eos_token_id = vocabulary.ends[0]
        self.special_token_ids = [token for token, data in enumerate(vocabulary.tokens) if not data]
        self.tokens = [
            data or vocabulary.special.get(token, f"<unused {token}>").encode()
            for token, data in enumerate(vocabulary.tokens)
        ]
        self._cut = longest_first(vocabulary.tokens)

    def __call__(self, text: str | bytes) -> list[int]:
        return self._cut(text.encode() if isinstance(text, str) else text)


class LlGuidance:
    formats = ("lark", "json_schema")

    def __init__(self, vocabulary: Tokens) -> None:
        size = len(vocabulary.tokens)
        self._tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Tokenizer(vocabulary)), n_vocab=size)
        self._words = words(size, np.int32)
        self._size = size

    def renew(self) -> None:
        return

    def compile(self, form: str, grammar: str) -> Any:
        if form == "lark":
            made = llguidance.LLMatcher.grammar_from_lark(grammar)
        elif form == "json_schema":
            made = llguidance.LLMatcher.grammar_from_json_schema(grammar)
        else:
            raise Unsupported(form)
        matcher = llguidance.LLMatcher(self._tokenizer, made, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, constraint: Any) -> Sequence:
        matcher, buffer, size = constraint.deep_copy(), self._words, self._size
        address, length, compute = buffer.ctypes.data, buffer.nbytes, matcher.unsafe_compute_mask_ptr
        return Sequence(
            mask=lambda: compute(address, length),
            commit=matcher.consume_token,
            allowed=lambda: bits(buffer, size),
            accepting=matcher.is_accepting,
        )

    def size(self, constraint: Any) -> int | None:
        return None
