"""The vocabulary of a GGUF file, with the rules by which llama.cpp reads one.

Only the metadata is read, in one pass: a model's weights are never touched. The format is described in
docs/gguf.md of the ggml repository. Which tokens end a generation, and which are control tokens whatever
their declared type, llama.cpp decides by their texts (src/llama-vocab.cpp, `llama_vocab::impl::load`);
a vocabulary read here must be the one that llama.cpp would have loaded.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable
from typing import Any

from ._core import Vocabulary
from .errors import VocabularyError

# struct formats of the scalar value types, by their number in the file.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9

# Token types, as the file declares them.
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6

# Texts that end a generation wherever they occur. The first group also names the end-of-turn token.
_END_OF_TURN = (
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
)
_END_TEXTS = (
    *_END_OF_TURN,
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "</s>",
    "<|eom_id|>",
    "[EOS]",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "[e~[",
)
# Tokens that frame code to fill in: the file's key, whether it ends a generation, and its known texts.
_FILL_IN = (
    ("fim_pre", False, ("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
                        "<|code_prefix|>", "<|prefix|>")),
    ("fim_suf", False, ("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
                        "<|code_suffix|>", "<|suffix|>")),
    ("fim_mid", False, ("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
                        "<|code_middle|>", "<|middle|>")),
    ("fim_pad", True, ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]")),
    ("fim_rep", True, ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>")),
    ("fim_sep", True, ("<|file_sep|>",)),
)  # fmt: skip
# Older names of three of these keys.
_OLD_KEYS = {"fim_pre": "prefix", "fim_suf": "suffix", "fim_mid": "middle"}
# Tokens of the harmony format that are always shown as text.
_ALWAYS_TEXT = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")

# End-of-sentence ids of files that declare none.
_DEFAULT_EOS = {"llama": 2, "gpt2": 11}
# Pre-tokenizers of byte-pair vocabularies that write spaces as SentencePiece does.
_SPACE_MARKED = {"gemma4", "granite-embed-multi-311m", "sarvam-moe"}


def read_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Reads the vocabulary of the GGUF file at `path`."""
    fields = _read_fields(path)
    model = fields.get("tokenizer.ggml.model")
    texts = fields.get("tokenizer.ggml.tokens")
    if not isinstance(model, bytes) or not isinstance(texts, list):
        raise VocabularyError(f"{os.fspath(path)}: the file holds no vocabulary")
    kind = model.decode("utf-8", "replace")
    if kind not in ("llama", "gpt2", "gemma4"):
        raise VocabularyError(
            f"{os.fspath(path)}: a vocabulary of kind '{kind}' is not supported; "
            "byte-level BPE ('gpt2') and SentencePiece ('llama', 'gemma4') are"
        )
    pre = "gemma4" if kind == "gemma4" else fields.get("tokenizer.ggml.pre", b"").decode("utf-8", "replace")
    marked = kind == "llama" or pre in _SPACE_MARKED
    return _build(fields, kind, texts, _unmark_spaces if marked else _decode_byte_alphabet)


def _build(fields: dict[str, Any], kind: str, texts: list[bytes], decode: Callable[[bytes], bytes]) -> Vocabulary:
    texts = [text or b"[EMPTY_%d]" % token for token, text in enumerate(texts)]
    types = list(fields.get("tokenizer.ggml.token_type") or [_NORMAL] * len(texts))
    if len(types) < len(texts):
        raise VocabularyError(f"the file declares {len(types)} token types for {len(texts)} tokens")
    end_tokens = _end_tokens(fields, kind, texts, types)
    tokens: list[bytes] = []
    special: dict[int, str] = {}
    named: dict[int, str] = {}
    ends = set(end_tokens)
    for token, (text, token_type) in enumerate(zip(texts, types, strict=False)):
        data = b""
        if token in ends or token_type in (_CONTROL, _UNKNOWN):
            special[token] = text.decode("utf-8", "replace")
        elif token_type == _NORMAL:
            data = decode(text)
        elif token_type == _USER_DEFINED:
            data = text
            named[token] = text.decode("utf-8", "replace")
        elif token_type == _BYTE:
            data = _byte_of(text)
        tokens.append(data)
    return Vocabulary(tokens, end_tokens, special, named)


def _end_tokens(fields: dict[str, Any], kind: str, texts: list[bytes], types: list[int]) -> list[int]:
    """The ids that end a generation, ascending; marks in `types` what llama.cpp takes for control or text."""
    ids: dict[bytes, int] = {}
    for token, text in enumerate(texts):
        ids.setdefault(text, token)

    def declared(key: str, default: int | None = None) -> int | None:
        token = fields.get(f"tokenizer.ggml.{key}_token_id")
        return token if isinstance(token, int) and 0 <= token < len(texts) else default

    def known(names: tuple[str, ...]) -> list[int]:
        return sorted(ids[name.encode()] for name in names if name.encode() in ids)

    ends: set[int] = set()
    for key, is_end, names in _FILL_IN:
        frame = declared(key, declared(_OLD_KEYS[key]) if key in _OLD_KEYS else None)
        if frame is None and known(names):
            frame = known(names)[0]
            types[frame] = _CONTROL
        if frame is not None and is_end:
            ends.add(frame)
    for token in known(_END_TEXTS):
        ends.add(token)
        types[token] = _CONTROL
    for token in known(_ALWAYS_TEXT):
        types[token] = _USER_DEFINED
    eos = _DEFAULT_EOS.get(kind)
    for key in ("eos", "eot", "eom"):
        end = declared(key, eos if key == "eos" and eos is not None and eos < len(texts) else None)
        if end is not None:
            ends.add(end)
    # In the harmony and solar formats `<|end|>` closes a message, not the generation; in the gemma 4
    # vocabulary `</s>` is text.
    found = {texts[token] for token in ends}
    calls = b"<|call|>" in found or b"<|calls|>" in found
    if calls and b"<|end|>" in found and (b"<|return|>" in found or b"<|flush|>" in found):
        ends.remove(ids[b"<|end|>"])
        types[ids[b"<|end|>"]] = _USER_DEFINED
    if b"<|tool_response>" in found and b"</s>" in found:
        ends.remove(ids[b"</s>"])
        types[ids[b"</s>"]] = _NORMAL
    return sorted(ends)


def _unmark_spaces(text: bytes) -> bytes:
    return text.replace(b"\xe2\x96\x81", b" ")


def _byte_of(text: bytes) -> bytes:
    """The byte that a fall-back token such as `<0x0A>` stands for."""
    try:
        return bytes([int(text[3:5], 16)])
    except ValueError:
        return b"\0"


def _byte_alphabet() -> dict[int, int]:
    """Code point to byte of GPT-2's alphabet, which writes every byte as a printable character.

    Printable bytes of Latin-1 stand for themselves, the others follow from U+0100 on. Code points of Latin-1
    that stand for no byte are sent beyond it, so that encoding to Latin-1 finds them.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = dict.fromkeys(others, 0xFFFF)
    table.update({byte: byte for byte in printable})
    table.update({0x100 + n: byte for n, byte in enumerate(others)})
    return table


_BYTE_ALPHABET = _byte_alphabet()


def _decode_byte_alphabet(text: bytes) -> bytes:
    characters = text.decode("utf-8", "replace")
    try:
        return characters.translate(_BYTE_ALPHABET).encode("latin-1")
    except UnicodeEncodeError:
        return b"".join(map(_decode_character, characters, [text] * len(characters)))


def _decode_character(character: str, text: bytes) -> bytes:
    """One character of a token with others than the alphabet's in it: llama.cpp spells those out like this."""
    byte = _BYTE_ALPHABET.get(ord(character), 0xFFFF)
    if byte < 256:
        return bytes([byte])
    return b"[UNK_BYTE_0x" + character.encode().hex().encode() + text + b"]"


def _read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields `tokenizer.ggml.*` of a file: numbers, bytes, and lists of them."""
    with open(path, "rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise VocabularyError(f"{os.fspath(path)}: the file is empty") from None
    with data:
        try:
            return _parse_fields(data)
        except (struct.error, UnicodeDecodeError, OverflowError, MemoryError) as error:
            raise VocabularyError(f"{os.fspath(path)}: the file is damaged ({error})") from None
        except VocabularyError as error:
            raise VocabularyError(f"{os.fspath(path)}: {error}") from None


def _parse_fields(data: mmap.mmap) -> dict[str, Any]:
    if data[:4] != b"GGUF":
        raise VocabularyError("not a GGUF file")
    version, _, count = struct.unpack_from("<IQQ", data, 4)
    if version not in (2, 3):
        raise VocabularyError(f"GGUF version {version} is not supported (2 and 3, little-endian, are)")
    fields: dict[str, Any] = {}
    at = 24
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", data, at)
        key = _slice(data, at + 8, length).decode("utf-8")
        at += 8 + length
        (value_type,) = struct.unpack_from("<I", data, at)
        wanted = key.startswith("tokenizer.ggml.") and key not in ("tokenizer.ggml.merges", "tokenizer.ggml.scores")
        value, at = _parse_value(data, at + 4, value_type, wanted)
        if wanted:
            fields[key] = value
    return fields


def _parse_value(data: mmap.mmap, at: int, value_type: int, wanted: bool) -> tuple[Any, int]:
    if value_type == _STRING:
        (length,) = struct.unpack_from("<Q", data, at)
        return _slice(data, at + 8, length), at + 8 + length
    if value_type == _ARRAY:
        item_type, count = struct.unpack_from("<IQ", data, at)
        if item_type == _STRING:
            return _parse_strings(data, at + 12, count, wanted)
        size = struct.calcsize("<" + _scalar(item_type)) * count
        raw = _slice(data, at + 12, size)
        return list(struct.unpack(f"<{count}{_scalar(item_type)}", raw)) if wanted else None, at + 12 + size
    (value,) = struct.unpack_from("<" + _scalar(value_type), data, at)
    return value, at + struct.calcsize("<" + _scalar(value_type))


def _parse_strings(data: mmap.mmap, at: int, count: int, wanted: bool) -> tuple[list[bytes], int]:
    strings: list[bytes] = []
    length_at = struct.Struct("<Q").unpack_from
    for _ in range(count):
        (length,) = length_at(data, at)
        at += 8 + length
        if wanted:
            strings.append(data[at - length : at])
    if at > len(data):
        raise VocabularyError("the file is damaged (a string ends beyond it)")
    return strings, at


def _scalar(value_type: int) -> str:
    try:
        return _SCALARS[value_type]
    except KeyError:
        raise VocabularyError(f"the file is damaged (value type {value_type})") from None


def _slice(data: mmap.mmap, at: int, length: int) -> bytes:
    if length > len(data) - at:
        raise VocabularyError("the file is damaged (a value ends beyond it)")
    return data[at : at + length]
