"""Going on from text that stands already: its tokens, and which of the last of them may give way to a longer one.

A tokenizer that sees the prefix alone may cut its end where it would not have, had it seen what follows: " indivi" is
two tokens and " individual" is one. A model that reads the first cut finds a text that it was not trained on. So the
last tokens of the prefix are taken back as far as a token of the vocabulary can cover the rest of the prefix and more,
as the grammar allows. From there the model chooses at each of them between the one that stands and the longer ones;
other cuts of the prefix are not offered, a model makes much of their first token (" in") without regard to what must
come after it. The tokens taken back are fewer than the bytes of the longest token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ._core import Matcher, Sampler, Vocabulary
from .decoding import Tokenizer, text_before, tokenizer_of

if TYPE_CHECKING:
    import llama_cpp


@dataclass(frozen=True, slots=True)
class Standing:
    """A token of the prefix that may give way."""

    token: int
    #: Tokens that cover it, the rest of the prefix, and more; as the grammar allows and none of them forbidden.
    longer: list[int]


@dataclass(slots=True)
class Seam:
    """Where a prefix ends and the generation begins."""

    #: Of the prefix, those that stay.
    tokens: list[int] = field(default_factory=list)
    #: Those after them. The sampler has not taken them in.
    standing: list[Standing] = field(default_factory=list)
    #: Their bytes.
    given: bytes = b""
    #: The prefix is a whole sentence.
    accepting: bool = False
    #: Tokens were taken back.
    healed: bool = False

    def take(self, token: int, data: bytes) -> bytes:
        """A token, with its bytes, is the next one of the text; returns what it adds to the prefix."""
        stays = bool(self.standing) and self.standing[0].token == token
        self.standing = self.standing[1:] if stays else []
        skipped = min(len(self.given), len(data))
        self.given = self.given[skipped:]
        return data[skipped:]


def place_prefix(llm: llama_cpp.Llama, sampler: Sampler, prompt: Sequence[int], prefix: bytes, heal: bool) -> Seam:
    """Cuts `prefix` into tokens as they follow `prompt`, and moves `sampler` to its end, or before its last tokens.

    RejectedToken with the offset when the grammar refuses it, ValueError when it is not whole UTF-8.
    """
    try:
        prefix.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"prefix: not whole UTF-8 at byte {error.start}") from None
    matcher = sampler.constraint.matcher()
    matcher.commit_bytes(prefix)
    accepting = matcher.accepting
    vocabulary = sampler.constraint.vocabulary
    before = text_before(vocabulary, np.array(prompt, dtype=np.intc))
    seam = Seam(_tokens_after(tokenizer_of(llm), vocabulary, before, prefix), accepting=accepting)
    if heal:
        _take_back(seam, vocabulary, matcher, prefix, frozenset(sampler.settings["forbidden_tokens"]))
    sampler.commit_bytes(prefix[: len(prefix) - len(seam.given)])
    return seam


def _take_back(seam: Seam, vocabulary: Vocabulary, matcher: Matcher, prefix: bytes, forbidden: frozenset[int]) -> None:
    """Moves tokens from the end of `seam.tokens` to `seam.standing`, from the first that has a longer one."""
    standing: list[Standing] = []
    given = b""
    for token in reversed(seam.tokens):
        data = vocabulary.token_bytes(token) if token < len(vocabulary) else b""
        given = data + given
        if not data or not prefix.endswith(given) or len(given) >= vocabulary.longest_token:
            break
        matcher.reset()
        matcher.commit_bytes(prefix[: len(prefix) - len(given)])
        longer = [
            other
            for other in vocabulary.beginning_with(given)
            if other not in forbidden and len(vocabulary.token_bytes(other)) > len(given) and matcher.allows(other)
        ]
        standing.insert(0, Standing(token, longer))
        if longer:
            seam.standing, seam.given = standing.copy(), given
    del seam.tokens[len(seam.tokens) - len(seam.standing) :]
    seam.healed = bool(seam.standing)


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
