"""Vocabularies: from token bytes, from GGUF files of every supported kind, from a loaded model."""

from __future__ import annotations

from pathlib import Path

import glrsampler as glr
import pytest
from gguf_files import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, write_gguf


def all_bytes(vocabulary: glr.Vocabulary) -> list[bytes]:
    return [vocabulary.token_bytes(token) for token in range(len(vocabulary))]


def test_from_tokens() -> None:
    vocabulary = glr.Vocabulary.from_tokens([b"a", b"\xff", b""], end_tokens=[4, 3], special_tokens={4: "</s>"})
    assert len(vocabulary) == 5
    assert all_bytes(vocabulary) == [b"a", b"\xff", b"", b"", b""]
    assert sorted(vocabulary.end_tokens) == [3, 4]
    assert vocabulary.find("</s>") == 4
    assert vocabulary.find("a") == 0
    assert vocabulary.find("b") is None
    assert vocabulary.longest_token == 1
    assert [vocabulary.beginning_with(text) for text in (b"", b"a", b"ab", b"\xff", "</s>")] == [
        [0, 1],
        [0],
        [],
        [1],
        [],
    ]
    assert len(vocabulary.fingerprint) == 64


def test_control_tokens_have_no_bytes_whatever_was_given() -> None:
    vocabulary = glr.Vocabulary.from_tokens([b"a", b"<x>", b"</s>"], [2], {1: "<x>"})
    assert all_bytes(vocabulary) == [b"a", b"", b""]
    assert [vocabulary.is_control(token) for token in range(3)] == [False, True, True]
    matcher = (
        glr.Grammar.from_gbnf('root ::= "<x>"')
        .compile(glr.Vocabulary.from_tokens([b"<", b"x", b">", b"<x>"], [4], {3: "<x>"}))
        .matcher()
    )
    assert matcher.allowed_tokens().tolist() == [0]


def test_fingerprints_tell_vocabularies_apart() -> None:
    make = glr.Vocabulary.from_tokens
    different = [
        make([b"a", b"b"]),
        make([b"ab", b""]),
        make([b"a", b"b"], [1]),
        make([b"a", b"b"], [], {1: "b"}),
        make([b"a", b"b", b""]),
        glr._core.Vocabulary([b"a", b"b"], [], {}, {1: "b"}),
    ]
    assert len({vocabulary.fingerprint for vocabulary in different}) == len(different)
    assert make([b"a", b"b"]).fingerprint == different[0].fingerprint


def test_tokens_that_begin_alike() -> None:
    vocabulary = glr.Vocabulary.from_tokens([b"abc", b"b", b"ab", b"a", b"ab", b"abd"], [1])
    assert vocabulary.beginning_with(b"ab") == [2, 4, 0, 5]


@pytest.mark.parametrize(
    "token", [-1, 1 << 25, 1 << 40, -(1 << 70), 10**5000], ids=["-1", "2^25", "2^40", "-2^70", "10^5000"]
)
@pytest.mark.parametrize("argument", ["end_tokens", "special_tokens", "named_tokens"])
def test_absurd_ids_are_refused(argument: str, token: int) -> None:
    shown = "a number too long to show" if token > 1 << 100 else str(token)
    with pytest.raises(ValueError, match=f"{argument}: {shown} is not between 0 and 16777216"):
        glr.Vocabulary([b"a"], **{argument: [token] if argument == "end_tokens" else {token: "x"}})  # type: ignore[arg-type]  # one of three


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError):
        glr.Vocabulary.from_tokens([b"a", 3])  # type: ignore[list-item]  # the error is what is tested
    with pytest.raises(IndexError):
        glr.Vocabulary.from_tokens([b"a"]).token_bytes(1)


def test_byte_level_bpe(tmp_path: Path) -> None:
    path = write_gguf(
        tmp_path / "bpe.gguf",
        "gpt2",
        [
            ("<|endoftext|>", CONTROL),
            ("Ġhello", NORMAL),
            ("Ċ", NORMAL),
            ("âĤ", NORMAL),  # the first two bytes of a euro sign
            ("<tool>", USER_DEFINED),
            ("<spare>", UNUSED),
            ("", NORMAL),
            ("<|im_end|>", NORMAL),  # control by its text
            ("!", NORMAL),
        ],
        eos_token_id=0,
    )
    vocabulary = glr.Vocabulary.from_gguf(path)
    assert all_bytes(vocabulary) == [
        b"", b" hello", b"\n", b"\xe2\x82", b"<tool>", b"", b"[EMPTY_6]", b"", b"!",
    ]  # fmt: skip
    assert vocabulary.end_tokens == [0, 7]
    assert [vocabulary.find(text) for text in ("<|im_end|>", "<tool>", "<spare>")] == [7, 4, None]
    assert [vocabulary.is_control(token) for token in (0, 4, 5, 7)] == [True, False, False, True]


def test_sentencepiece(tmp_path: Path) -> None:
    path = write_gguf(
        tmp_path / "spm.gguf",
        "llama",
        [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("<0x0A>", BYTE), ("<0xFF>", BYTE),
         ("▁the", NORMAL), ("é", NORMAL), ("▁▁", USER_DEFINED)],
    )  # fmt: skip
    vocabulary = glr.Vocabulary.from_gguf(path)
    assert all_bytes(vocabulary) == [b"", b"", b"", b"\n", b"\xff", b" the", "é".encode(), "▁▁".encode()]
    assert vocabulary.end_tokens == [2]  # by default of this kind
    assert vocabulary.is_control(0)


@pytest.mark.parametrize(
    ("texts", "ends"),
    [
        (["<|return|>", "<|call|>", "<|end|>", "<|start|>"], ["<|return|>", "<|call|>"]),
        (["<|tool_response>", "</s>", "<eos>"], ["<|tool_response>", "<eos>"]),
        (["<fim_pad>", "<file>", "<|file_sep|>", "<fim_prefix>"], ["<fim_pad>", "<|file_sep|>"]),
    ],
)
def test_end_tokens_by_their_texts(tmp_path: Path, texts: list[str], ends: list[str]) -> None:
    path = write_gguf(tmp_path / "v.gguf", "gemma4", [(text, CONTROL) for text in texts])
    assert [texts[token] for token in glr.Vocabulary.from_gguf(path).end_tokens] == ends


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "bert.gguf", "bert", [("[CLS]", CONTROL)])
    with pytest.raises(glr.VocabularyError, match="'bert' is not supported"):
        glr.Vocabulary.from_gguf(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    good = write_gguf(tmp_path / "good.gguf", "gpt2", [("a", NORMAL), ("<eos>", CONTROL)]).read_bytes()
    broken = tmp_path / "broken.gguf"
    for size in range(0, len(good) - 1, 3):
        broken.write_bytes(good[:size])
        with pytest.raises(glr.VocabularyError):
            glr.Vocabulary.from_gguf(broken)
    for data in (b"", b"GGUF", b"x" * 100, b"GGUF" + b"\xff" * 100):
        broken.write_bytes(data)
        with pytest.raises(glr.VocabularyError):
            glr.Vocabulary.from_gguf(broken)
    with pytest.raises(FileNotFoundError):
        glr.Vocabulary.from_gguf(tmp_path / "missing.gguf")


def test_file_and_loaded_model_are_the_same_vocabulary(
    model_path: Path, llm: glr.Llama, vocabulary: glr.Vocabulary
) -> None:
    read = glr.Vocabulary.from_gguf(model_path)
    bare = glr.Vocabulary.from_llama(glr.Llama(model_path=str(model_path), vocab_only=True, verbose=False))
    assert len(read) == len(vocabulary) == llm.n_vocab()
    for token in range(len(read)):
        assert read.token_bytes(token) == vocabulary.token_bytes(token), token
        assert read.token_name(token) == vocabulary.token_name(token), token
        assert read.is_control(token) == vocabulary.is_control(token), token
    assert read.end_tokens == vocabulary.end_tokens == bare.end_tokens
    assert read.fingerprint == vocabulary.fingerprint == bare.fingerprint


def test_token_bytes_are_what_the_model_writes(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    text = 'Grüße, 東京! 🦊 {"a": [1, 2]}\n\tif x != y:\r\n'.encode()
    tokens = llm.tokenize(text, add_bos=False)
    assert b"".join(map(vocabulary.token_bytes, tokens)) == text
