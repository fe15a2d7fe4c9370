"""One sequence on its way through a model: what it has read, what it reads next, and the tokens that are certain."""

from __future__ import annotations

import contextlib
import ctypes
import operator
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import _abi
from ._core import Interruption, Sampler, Vocabulary
from .errors import Error

if TYPE_CHECKING:
    import llama_cpp

# Bytes of the text so far that a tokenizer is shown: the words it splits text into are shorter.
_CONTEXT_BYTES = 64

Tokenizer = Callable[[bytes], list[int]]
Ask = Callable[[], object]


class BatchRefused(RuntimeError):
    """llama.cpp has not evaluated a batch. What it had read before stands."""


@contextlib.contextmanager
def exclusive(llm: llama_cpp.Llama) -> Iterator[None]:
    """Held from before the model reads until its logits were looked at.

    llama.cpp computes without the GIL and looks after nothing: a second thread in between, or a callable that is asked
    meanwhile and has the model read, makes a wrong text or ends the process. RuntimeError instead. BatchRefused by a
    closed model.
    """
    if not llm._ctx.ctx:
        raise BatchRefused("the model is closed")
    lock = llm.__dict__.setdefault("_glrsampler_reading", threading.Lock())
    if not lock.acquire(blocking=False):
        raise RuntimeError("the model is reading for somebody else: one thread at a time, in turn")
    try:
        yield
    finally:
        lock.release()


# UTF-8 in form, beyond U+10FFFF in value. llama.cpp's tokenizer throws at it, through C, which ends the process.
_BEYOND_UNICODE = re.compile(rb"[\xf5-\xff]|\xf4[\x90-\xbf]")


def readable(text: bytes) -> bytes:
    """The text as llama.cpp's tokenizer can be given it: with U+FFFD for bytes that are no UTF-8, where some of them
    would end the process."""
    return text.decode("utf-8", "replace").encode() if _BEYOND_UNICODE.search(text) else text


def tokenizer_of(llm: llama_cpp.Llama) -> Tokenizer:
    """The model's own tokenizer, without special tokens. Does not keep the model alive: [] when it is gone."""
    model = weakref.ref(llm._model)

    def tokenize(text: bytes) -> list[int]:
        loaded = model()
        if loaded is None or not loaded.vocab:
            return []
        tokens: list[int] = loaded.tokenize(readable(text), add_bos=False, special=False)
        return tokens

    return tokenize


def text_before(vocabulary: Vocabulary, tokens: npt.NDArray[np.intc]) -> bytes:
    """The last bytes of a sequence, back to a control token at most."""
    pieces: list[bytes] = []
    size = 0
    for token in tokens[::-1].tolist():
        data = vocabulary.token_bytes(token) if 0 <= token < len(vocabulary) else b""
        if not data or size + len(data) > _CONTEXT_BYTES:
            break
        pieces.append(data)
        size += len(data)
    return b"".join(reversed(pieces))


class Decoding:
    """The sequence, the model and the sampler of one generation.

    Tokens are evaluated when the next choice needs their logits, never after the last. Those that came since the
    last choice are one batch. llama.cpp's sums depend on the size of a batch, so batches are a function of the
    sequence, not of what the cache happens to hold: the last token before the first choice is read alone, and what
    another generation has thrown out of the cache is read again apart from what is new.
    """

    def __init__(self, llm: llama_cpp.Llama, sampler: Sampler, tokens: Sequence[int], more: int = 0) -> None:
        """`more` tokens are certain to follow."""
        self.llm = llm
        self.sampler = sampler
        self.vocabulary = sampler.constraint.vocabulary
        self.ends = self.vocabulary.end_tokens
        self.width = llm.n_vocab()
        if len(self.vocabulary) > self.width:
            raise ValueError(f"the sampler's vocabulary has {len(self.vocabulary)} tokens, the model {self.width}")
        self.context = len(llm.input_ids)  # n_ctx() may be more, rounded up
        if not tokens:
            raise ValueError("the prompt is empty")
        if len(tokens) + more >= self.context:
            raise ValueError(f"the prompt has {len(tokens) + more} tokens, the context {self.context}")
        self.sequence = np.empty(self.context, dtype=np.intc)
        ids = [operator.index(token) for token in tokens]
        for token in (min(ids, default=0), max(ids, default=0)):
            if not 0 <= token < self.width:
                raise ValueError(f"prompt: {token} is no token of the model, which has {self.width}")
        self.sequence[: len(ids)] = ids
        self.length = len(tokens)
        self._read: int | None = None  # how long the sequence was at the last choice
        self._tokenize = tokenizer_of(llm)
        self.forcing: bool = sampler.settings["forced_tokens"]
        self.model_ms = 0.0

    @property
    def room(self) -> int:
        """How many more tokens the context holds."""
        return self.context - self.length

    @property
    def read(self) -> npt.NDArray[np.intc]:
        """The tokens so far, the prompt's first."""
        return self.sequence[: self.length]

    def only_end_allowed(self) -> bool:
        return self.sampler.accepting and self.sampler.allowed_count == len(self.ends)

    def forced(self, given: bytes = b"") -> list[int]:
        """Tokens that come next whatever the model says; not accepted yet."""
        if not self.forcing:
            return []
        before = text_before(self.vocabulary, self.sequence[: self.length])
        return self.sampler.forced_tokens(self._tokenize, before, given)

    def append(self, token: int) -> None:
        """Accepts a token and puts it where the model will read it."""
        if not self.sampler.accept(token):
            raise Error(f"token {token} was chosen but is not allowed")
        if token not in self.ends and self.length < self.context:
            self.sequence[self.length] = token
            self.length += 1

    def take_back(self, count: int) -> None:
        """Undoes the last appended tokens."""
        self.sampler.rollback(count)
        self.length -= count
        self._read = min(self._read or 0, self.length) or None

    def evaluate(self, ask: Ask = lambda: False) -> bool:
        """Has the model read the sequence; False when `ask` said so, before a batch or while one was computed.

        For a holder of `exclusive`. BatchRefused when llama.cpp refuses; what `ask` raises comes through.
        """
        old = self.length - 1 if self._read is None else min(self._read, self.length - 1)
        at = cut_back(self.llm, self.sequence[:old])
        while at < self.length:
            if ask():
                return False
            end = min(at + self.llm.n_batch, old if at < old else self.length)
            started = time.perf_counter()
            done = _read(self.llm, self.sequence[at:end].tolist(), ask)
            self.model_ms += (time.perf_counter() - started) * 1e3
            if not done:
                return False
            at = end
        self._read = self.length
        return True

    def logits_address(self) -> int:
        address = ctypes.cast(self.llm._ctx.get_logits_ith(-1), ctypes.c_void_p).value
        if address is None:
            raise Error("llama.cpp has no logits for the last token")
        return address

    def logits(self) -> npt.NDArray[np.float32]:
        """llama.cpp's own row, valid until the model reads on."""
        row = (ctypes.c_float * self.width).from_address(self.logits_address())
        return np.ctypeslib.as_array(row)

    def choose(self) -> int:
        """Samples from the logits; negative at a dead end."""
        return self.sampler.sample_at(self.logits_address(), self.width)


def _read(llm: llama_cpp.Llama, batch: list[int], ask: Ask) -> bool:
    """Has the model read a batch; False when `ask` said so meanwhile."""
    lib, context, made_with = _abi.llama_cpp(), llm._ctx.ctx, llm.context_params
    earlier = ctypes.cast(made_with.abort_callback, ctypes.c_void_p).value or 0
    check = Interruption(ask, earlier, made_with.abort_callback_data or 0)
    lib.llama_set_abort_callback(context, lib.ggml_abort_callback(check.callback), check.data)
    refused: RuntimeError | None = None
    whole = False
    try:
        llm.eval(batch)
        whole = True
    except RuntimeError as error:
        refused = error
    finally:
        lib.llama_set_abort_callback(context, made_with.abort_callback, made_with.abort_callback_data)
        # Parts of the batch may have been read. A model that cannot forget them alone forgets everything.
        if not whole and not llm._ctx.kv_cache_seq_rm(-1, llm.n_tokens, -1):
            llm.reset()
    if check.stopped():
        return False
    if refused is not None:
        raise BatchRefused(str(refused)) from refused
    return True


def cut_back(llm: llama_cpp.Llama, sequence: npt.NDArray[np.intc]) -> int:
    """Cuts what the model has read back to what it shares with `sequence`; returns how many tokens that are."""
    cached = llm._input_ids
    limit = min(len(cached), len(sequence))
    differs = cached[:limit] != sequence[:limit]
    shared = int(differs.argmax()) if differs.any() else limit
    if shared == len(cached):
        return shared
    # Recurrent models cannot forget a part of what they have read.
    if shared > 0 and llm._ctx.kv_cache_seq_rm(-1, shared, -1):
        llm.n_tokens = shared
        return shared
    llm.reset()
    return 0
