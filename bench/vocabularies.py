"""Vocabularies to measure on, and how a text is cut into their tokens."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import glrsampler as glr

#: `tokenize` needs llama.cpp for a GGUF file; without it, and for synthetic vocabularies, a text is cut into the
#: longest tokens from the left.
Tokenize = Callable[[bytes], list[int]]

HYPHENS: Final = 112  # the longest run of hyphens that is one token in the vocabulary of Llama 3


@dataclass(frozen=True)
class Tokens:
    """A vocabulary as every contender can be given it."""

    name: str
    path: str | None  # of a GGUF file; None: synthetic
    tokens: Sequence[bytes]  # b"": a control token, or one that is never used
    special: dict[int, str]  # the texts of control tokens
    ends: Sequence[int]
    ours: glr.Vocabulary = field(repr=False)

    def fresh(self) -> glr.Vocabulary:
        """The same vocabulary, nothing computed for it yet."""
        if self.path is not None:
            return glr.Vocabulary.from_gguf(self.path)
        return glr.Vocabulary.from_tokens(self.tokens, self.ends, self.special)


def load(name: str) -> Tokens:
    """By the path of a GGUF file, `hyphens`, `bytes`, or `synthetic:SIZE`."""
    if name == "hyphens":
        return _made(name, [*_bytes(), *(b"-" * n for n in range(2, HYPHENS + 1)), *_words(2_000)])
    if name == "bytes":
        return _made(name, _bytes())
    if name.startswith("synthetic:"):
        size = int(name.partition(":")[2])
        return _made(name, [*_bytes(), *_words(size - 257)])
    ours = glr.Vocabulary.from_gguf(name)
    tokens = [ours.token_bytes(token) for token in range(len(ours))]
    special = {token: ours.token_name(token) for token in range(len(ours)) if ours.is_control(token)}
    for token in special:
        tokens[token] = b""
    return Tokens(Path(name).stem, name, tokens, special, ours.end_tokens, ours)


def tokenizer(vocabulary: Tokens) -> Tokenize:
    if vocabulary.path is not None:
        try:
            return _by_llama_cpp(vocabulary)
        except ModuleNotFoundError:
            pass
    return longest_first(vocabulary.tokens)


def longest_first(tokens: Sequence[bytes]) -> Tokenize:
    """Cuts the longest token from the left, again and again."""
    ids = {data: token for token, data in reversed(list(enumerate(tokens))) if data}
    longest = max(map(len, ids))

    def cut(text: bytes) -> list[int]:
        result: list[int] = []
        at = 0
        while at < len(text):
            size = next(n for n in range(min(longest, len(text) - at), 0, -1) if text[at : at + n] in ids)
            result.append(ids[text[at : at + size]])
            at += size
        return result

    return cut


def _by_llama_cpp(vocabulary: Tokens) -> Tokenize:
    import llama_cpp

    assert vocabulary.path is not None
    llm = llama_cpp.Llama(vocabulary.path, vocab_only=True, verbose=False)
    by_length = longest_first(vocabulary.tokens)

    def cut(text: bytes) -> list[int]:
        ids: list[int] = llm.tokenize(text, add_bos=False, special=False)
        # SentencePiece puts a blank before a text, which then is not the text any more.
        return ids if b"".join(vocabulary.tokens[token] for token in ids) == text else by_length(text)

    return cut


def _made(name: str, texts: Sequence[bytes]) -> Tokens:
    tokens = [*texts, b""]
    end = len(texts)
    special = {end: "<end>"}
    return Tokens(name, None, tokens, special, [end], glr.Vocabulary.from_tokens(tokens, [end], special))


def _bytes() -> list[bytes]:
    return [bytes([byte]) for byte in range(256)]


def _words(count: int) -> list[bytes]:
    """Distinct texts that look like the entries of a byte-pair vocabulary: pieces of words, half of them after a
    blank, some numbers, runs of punctuation."""
    random_source = random.Random(1)
    syllables = [a + b for a, b in itertools.product(["", *"bcdfghlmnprstvw", "th", "st", "ch"], "aeiou")]
    marks = [
        '"',
        '":',
        '",',
        '": "',
        '", "',
        "()",
        ");",
        "{}",
        "},",
        "[]",
        "],",
        "\n\n",
        "  ",
        "    ",
        "\t\t",
        "--",
        "==",
    ]
    found: dict[bytes, None] = dict.fromkeys(mark.encode() for mark in marks)
    while len(found) < count:
        kind = random_source.random()
        if kind < 0.05:
            text = str(random_source.randrange(10 ** random_source.randint(2, 4)))
        else:
            text = "".join(random_source.choices(syllables, k=random_source.choice((1, 2, 2, 3, 3, 4))))
            text = text.capitalize() if kind < 0.2 else text
        data = (" " + text if random_source.random() < 0.5 else text).encode()
        if len(data) > 1:
            found.setdefault(data)
    return list(found)[:count]
