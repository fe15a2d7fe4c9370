"""The vocabulary of a model that llama-cpp-python has loaded."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from . import _abi
from ._core import Vocabulary
from .decoding import tokenizer_of
from .errors import VocabularyError

if TYPE_CHECKING:
    import llama_cpp

# llama_token_attr: what llama.cpp decided about a token. Unknown and control tokens add no text.
_UNKNOWN, _CONTROL, _USER_DEFINED = 1 << 0, 1 << 3, 1 << 4
_SENTENCEPIECE, _BYTE_PAIR = 1, 2


def read_vocabulary(llm: llama_cpp.Llama) -> Vocabulary:
    """Reads the vocabulary of `llm`; it may have been loaded with `vocab_only=True`."""
    lib = _abi.llama_cpp()
    vocab = llm._model.vocab
    if not llm._model.model or not vocab:
        raise VocabularyError("the model is closed")
    kind = lib.llama_vocab_type(vocab)
    if kind not in (_SENTENCEPIECE, _BYTE_PAIR):
        raise VocabularyError(f"a vocabulary of llama.cpp's type {kind} is not supported; BPE and SentencePiece are")
    get_attr, is_eog, get_text = lib.llama_vocab_get_attr, lib.llama_vocab_is_eog, lib.llama_vocab_get_text
    to_piece = lib.llama_token_to_piece
    size = 256
    buffer = ctypes.create_string_buffer(size)
    tokens: list[bytes] = []
    end_tokens: list[int] = []
    special: dict[int, str] = {}
    named: dict[int, str] = {}
    for token in range(lib.llama_vocab_n_tokens(vocab)):
        attr, is_end, data = get_attr(vocab, token), is_eog(vocab, token), b""
        if is_end:
            end_tokens.append(token)
        if is_end or attr & (_CONTROL | _UNKNOWN):
            special[token] = get_text(vocab, token).decode("utf-8", "replace")
        else:
            length = to_piece(vocab, token, buffer, size, 0, True)
            if length < 0:
                size = -length
                buffer = ctypes.create_string_buffer(size)
                length = to_piece(vocab, token, buffer, size, 0, True)
            data = ctypes.string_at(buffer, length)
            if attr & _USER_DEFINED:
                named[token] = data.decode("utf-8", "replace")
        tokens.append(data)
    return Vocabulary(tokens, end_tokens, special, named, tokenizer_of(llm))
