"""This library, in each of its modes."""

from __future__ import annotations

from typing import Literal

import glrsampler as glr
import numpy as np

from ..vocabularies import Tokens
from .contender import Sequence, Unsupported, bits, words


class Lazy:
    formats = ("gbnf", "json_schema", "lark")
    mode: Literal["lazy", "eager", "background"] = "lazy"

    def __init__(self, vocabulary: Tokens) -> None:
        self._tokens = vocabulary
        self._vocabulary = vocabulary.fresh()
        self._words = words(len(vocabulary.tokens), np.uint32)

    def renew(self) -> None:
        self._vocabulary = self._tokens.fresh()

    def compile(self, form: str, grammar: str) -> glr.Constraint:
        if form == "gbnf":
            made = glr.Grammar.from_gbnf(grammar)
        elif form == "json_schema":
            made = glr.Grammar.from_json_schema(grammar, whitespace="any")
        elif form == "lark":
            made = glr.Grammar.from_lark(grammar)
        else:
            raise Unsupported(form)
        return made.compile(self._vocabulary, mode=self.mode)

    def start(self, constraint: glr.Constraint) -> Sequence:
        matcher, buffer = constraint.matcher(), self._words
        fill, size = matcher.mask, len(self._tokens.tokens)
        return Sequence(
            mask=lambda: fill(buffer),
            commit=matcher.commit,
            allowed=lambda: bits(buffer, size),
            accepting=lambda: matcher.accepting,
        )

    def size(self, constraint: glr.Constraint) -> int | None:
        return constraint.stats.bytes


class Eager(Lazy):
    mode = "eager"


class Background(Lazy):
    mode = "background"
