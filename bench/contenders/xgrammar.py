"""XGrammar: a pushdown automaton of bytes, masks of context-independent tokens compiled ahead."""

from __future__ import annotations

from typing import Any

import torch
import xgrammar

from ..vocabularies import Tokens
from .contender import Sequence, Unsupported, bits


class XGrammar:
    formats = ("gbnf", "json_schema")

    def __init__(self, vocabulary: Tokens) -> None:
        torch.set_num_threads(1)
        self._size = len(vocabulary.tokens)
        texts = [data or f"<unused {token}>".encode() for token, data in enumerate(vocabulary.tokens)]
        info = xgrammar.TokenizerInfo(
            texts,
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=self._size,
            stop_token_ids=list(vocabulary.ends),
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self._bitmask = xgrammar.allocate_token_bitmask(1, self._size)

    def renew(self) -> None:
        return

    def compile(self, form: str, grammar: str) -> Any:
        if form == "gbnf":
            return self._compiler.compile_grammar(grammar)
        if form == "json_schema":
            return self._compiler.compile_json_schema(grammar, any_whitespace=True, strict_mode=False)
        raise Unsupported(form)

    def start(self, constraint: Any) -> Sequence:
        matcher, bitmask, size = xgrammar.GrammarMatcher(constraint), self._bitmask, self._size
        fill, buffer = matcher.fill_next_token_bitmask, bitmask.numpy()[0]
        return Sequence(
            mask=lambda: fill(bitmask),
            commit=matcher.accept_token,
            allowed=lambda: bits(buffer, size),
            accepting=matcher.is_completed,
        )

    def size(self, constraint: Any) -> int | None:
        return int(constraint.memory_size_bytes)
