"""The record of a run: operational facts, nothing that was read or written.

evidence.schema.json beside this file is its JSON Schema.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import llama_cpp

_SAMPLES, _SAMPLE_BYTES = 64, 1 << 16


def schema() -> dict[str, Any]:
    """The JSON Schema of a record."""
    text = Path(__file__).with_name("evidence.schema.json").read_text(encoding="utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


def model_identity(llm: llama_cpp.Llama) -> str:
    """A SHA-256 that tells models apart without reading gigabytes: of the file's size and of 64 pieces of it, 64 KiB
    each, spread evenly from the first byte to the last. A model without a file: of its metadata.
    """
    try:
        found = os.stat(llm.model_path)
        return _file_identity(os.path.abspath(llm.model_path), found.st_size, found.st_mtime_ns)
    except OSError:
        return hashlib.sha256(json.dumps(llm.metadata, sort_keys=True).encode()).hexdigest()


@functools.lru_cache(maxsize=16)
def _file_identity(path: str, size: int, _changed: int) -> str:
    digest = hashlib.sha256(size.to_bytes(8, "little"))
    with open(path, "rb") as file:
        last = max(size - _SAMPLE_BYTES, 0)
        for at in sorted({last * index // (_SAMPLES - 1) for index in range(_SAMPLES)}):
            file.seek(at)
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


@functools.cache
def llama_cpp_version() -> str:
    """The installed version of llama-cpp-python."""
    return importlib.metadata.version("llama-cpp-python")
