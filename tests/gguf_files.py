"""GGUF files for tests: vocabularies of any kind, and a model small enough to be made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

#: <0x00> to <0xFF>, in which a SentencePiece tokenizer writes what no piece of it holds.
BYTE_TOKENS = [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]

_WIDTH, _CONTEXT = 32, 512


def write_gguf(path: Path, model: str, tokens: Sequence[tuple[str, int]], **fields: Any) -> Path:
    """A file without weights: a tokenizer of this `model`, the tokens by their texts and kinds, and further
    fields of tokenizer.ggml."""
    writer = _writer(path, model, tokens, fields)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def write_model(path: Path, model: str, tokens: Sequence[tuple[str, int]], **fields: Any) -> Path:
    """The same with weights by chance: one layer that says anything."""
    writer = _writer(path, model, tokens, fields)
    rng = np.random.default_rng(1)
    square = (_WIDTH, _WIDTH)
    for name, shape in {
        "token_embd": (len(tokens), _WIDTH),
        "output": (len(tokens), _WIDTH),
        **{f"blk.0.{name}": square for name in ("attn_q", "attn_k", "attn_v", "attn_output")},
        **{f"blk.0.{name}": square for name in ("ffn_gate", "ffn_up", "ffn_down")},
    }.items():
        writer.add_tensor(f"{name}.weight", rng.standard_normal(shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _writer(path: Path, model: str, tokens: Sequence[tuple[str, int]], fields: dict[str, Any]) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model(model)
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_types([kind for _, kind in tokens])
    # SentencePiece joins the pair with the best score first.
    writer.add_token_scores([-float(at) for at in range(len(tokens))])
    writer.add_token_merges(["a b", "c d"])
    for key, value in fields.items():
        if isinstance(value, str):
            writer.add_string(f"tokenizer.ggml.{key}", value)
        else:
            writer.add_uint32(f"tokenizer.ggml.{key}", value)
    return writer
