"""The demo model, loaded once, and vocabularies small enough to think about."""

from __future__ import annotations

from pathlib import Path

import glrsampler as glr
import pytest
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
