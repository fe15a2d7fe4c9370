"""Going on from text that stands already: its tokens, and whether the last of them may be chosen again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ._core import Sampler, Vocabulary
from .decoding import Tokenizer, text_before, tokenizer_of

if TYPE_CHECKING:
    import llama_cpp


@dataclass(slots=True)
class Seam:
    """Where a prefix ends and the generation begins."""

    #: Of the prefix, those that stay.
    tokens: list[int] = field(default_factory=list)
    #: The end of the prefix when its token is to be chosen again: the sampler has not taken it in.
    given: bytes = b""
    #: The tokens that begin with `given`.
    candidates: list[int] = field(default_factory=list)
    healed: bool = False


def place_prefix(llm: llama_cpp.Llama, sampler: Sampler, prompt: Sequence[int], prefix: bytes, heal: bool) -> Seam:
    """Cuts `prefix` into tokens as they follow `prompt`, and moves `sampler` to its end, or before its last token.

    RejectedToken with the offset when the grammar refuses it, ValueError when it is not whole UTF-8.
    """
    try:
        prefix.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"prefix: not whole UTF-8 at byte {error.start}") from None
    matcher = sampler.constraint.matcher()
    matcher.commit_bytes(prefix)
    vocabulary = sampler.constraint.vocabulary
    before = text_before(vocabulary, np.array(prompt, dtype=np.intc))
    seam = Seam(_tokens_after(tokenizer_of(llm), vocabulary, before, prefix))
    last = vocabulary.token_bytes(seam.tokens[-1]) if seam.tokens[-1] < len(vocabulary) else b""
    if heal and last and prefix.endswith(last):
        matcher.reset()
        matcher.commit_bytes(prefix[: -len(last)])
        allowed = _beginning_with(vocabulary, last, matcher.allowed_tokens())
        forbidden = set(sampler.settings["forbidden_tokens"])
        candidates = [token for token in allowed if token not in forbidden]
        if any(len(vocabulary.token_bytes(token)) > len(last) for token in candidates):
            seam.candidates, seam.given, seam.healed = candidates, last, True
            seam.tokens.pop()
    sampler.commit_bytes(prefix[: len(prefix) - len(seam.given)])
    return seam


def _beginning_with(vocabulary: Vocabulary, text: bytes, tokens: npt.NDArray[np.int32]) -> Iterable[int]:
    return (token for token in tokens.tolist() if vocabulary.token_bytes(token).startswith(text))


def _tokens_after(tokenize: Tokenizer, vocabulary: Vocabulary, before: bytes, text: bytes) -> list[int]:
    """The tokens of `text` as the tokenizer cuts it after `before`; where it would join the two, without `before`."""
    while before and before[0] & 0xC0 == 0x80:
        before = before[1:]
    # A tokenizer that puts a space in front does so before the line end.
    for context in (before, b"", b"\n"):
        tokens = tokenize(context + text)
        pieces = [vocabulary.token_bytes(token) if token < len(vocabulary) else b"" for token in tokens]
        start = sum(map(len, pieces)) - len(text)
        at = 0
        for index, piece in enumerate(pieces):
            if at == start and b"".join(pieces[index:]) == text:
                return tokens[index:]
            at += len(piece)
    return tokenize(text)
