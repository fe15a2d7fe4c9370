"""The demo model, loaded once, and vocabularies small enough to think about."""

from __future__ import annotations

from pathlib import Path

import glrsampler as glr
import pytest
from gguf_files import BYTE_TOKENS, CONTROL, NORMAL, UNKNOWN, write_model
from glrsampler.cli import embedded_model


@pytest.fixture(scope="session")
def model_path() -> Path:
    return embedded_model()


@pytest.fixture(scope="session")
def llm(model_path: Path) -> glr.Llama:
    # One thread: llama.cpp's threads wait in spins, and stall for seconds where the machine has other work.
    return glr.Llama(model_path=str(model_path), n_ctx=1024, n_threads=1, n_threads_batch=1, verbose=False)


@pytest.fixture(scope="session")
def vocabulary(llm: glr.Llama) -> glr.Vocabulary:
    return glr.Vocabulary.from_llama(llm)


@pytest.fixture(scope="session")
def letters() -> glr.Vocabulary:
    """Tokens 0 to 25 are the letters, 26 is "ab", 27 ends the text."""
    tokens = [bytes([byte]) for byte in range(ord("a"), ord("z") + 1)]
    return glr.Vocabulary.from_tokens([*tokens, b"ab"], [27], {27: "</s>"})


PIECES = '▁ ▁a a b c é 日本 語 の 🦊 " ▁日 本 na name ▁na { } 1 tr true'


@pytest.fixture(scope="session")
def fallback(tmp_path_factory: pytest.TempPathFactory) -> glr.Llama:
    """A model of chance weights: a SentencePiece vocabulary of few pieces, so that most characters take byte tokens."""
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), *BYTE_TOKENS]
    tokens += [(piece, NORMAL) for piece in PIECES.split(" ")]
    path = write_model(
        tmp_path_factory.mktemp("model") / "fallback.gguf",
        "llama", tokens, bos_token_id=1, eos_token_id=2, unknown_token_id=0,
    )  # fmt: skip
    return glr.Llama(model_path=str(path), n_ctx=128, n_batch=32, n_threads=1, n_threads_batch=1, verbose=False)
