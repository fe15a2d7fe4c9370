"""Constrained text from a llama_cpp.Llama, token by token.

The loop is this library's own: logits are read where llama.cpp left them, no candidate array is built, text
leaves as whole code points, and the key-value cache keeps what a prompt shares with the last one.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from ._core import Sampler, Utf8Buffer
from .errors import Error

if TYPE_CHECKING:
    import llama_cpp

Status = Literal["complete", "length", "cancelled", "dead_end", "error"]
Reason = Literal[
    "end_token",  # complete: the model ended the text where the grammar let it
    "grammar_end",  # complete: the grammar lets nothing follow
    "stop_string",  # complete if what stands before it is a sentence, else length
    "max_tokens",  # length
    "context_full",  # length
    "cancelled",  # cancelled
    "finished",  # dead_end: an end token was accepted before
    "nothing_allowed",  # dead_end: no token of the vocabulary can go on
    "all_forbidden",  # dead_end: forbidden_tokens holds all that could
    "no_candidate_allowed",  # dead_end: of the candidates
    "model",  # error: llama.cpp refused to evaluate
]


class CancelToken(Protocol):
    """Anything with `is_set`, such as a threading.Event."""

    def is_set(self) -> bool: ...


Cancel = CancelToken | Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Event:
    """A piece of the text. The last event has a status and, as a rule, no text."""

    text: str
    tokens: tuple[int, ...]
    #: The tokens so far are a whole sentence of the grammar.
    complete: bool
    #: How many tokens were allowed where the last one was chosen.
    allowed: int = 0
    status: Status | None = None
    reason: Reason | None = None
    #: Bytes of a code point that was cut off by the end.
    pending: bytes = b""
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """A whole generation. `tokens` leaves the end token out, `complete` says that `text` is a sentence."""

    text: str
    status: Status
    reason: Reason
    tokens: tuple[int, ...]
    complete: bool
    pending: bytes
    evidence: dict[str, Any]


def generate(
    llm: llama_cpp.Llama,
    prompt: str | bytes | Sequence[int],
    sampler: Sampler,
    *,
    max_tokens: int | None = None,
    stop: str | Sequence[str] = (),
    cancel: Cancel | None = None,
) -> Result:
    """The text that `llm` writes after `prompt` under `sampler`; see `stream`."""
    texts: list[str] = []
    tokens: list[int] = []
    for event in stream(llm, prompt, sampler, max_tokens=max_tokens, stop=stop, cancel=cancel):
        texts.append(event.text)
        tokens.extend(event.tokens)
    if event.status is None or event.reason is None:
        raise Error("the stream ended without a status")
    return Result(
        "".join(texts), event.status, event.reason, tuple(tokens), event.complete, event.pending, event.evidence
    )


def stream(
    llm: llama_cpp.Llama,
    prompt: str | bytes | Sequence[int],
    sampler: Sampler,
    *,
    max_tokens: int | None = None,
    stop: str | Sequence[str] = (),
    cancel: Cancel | None = None,
) -> Iterator[Event]:
    """Yields the text that `llm` writes after `prompt` as it comes, in events; the last one has the status.

    The sampler itself is not moved: each call works on a copy of it at the start of a text, so one sampler
    serves any number of prompts, also in streams that run in turn.

    Args:
        prompt: text, or tokens as they are. Texts get the model's beginning-of-sentence token.
        max_tokens: at most so many, None for as many as the context holds.
        stop: texts that end the generation; they are left out of it.
        cancel: asked between two tokens and between two batches of the prompt.
    """
    return _Run(llm, prompt, sampler.restarted(), max_tokens, stop, cancel).events()


class _Run:
    """One generation. Tokens are evaluated when the next choice needs their logits, never after the last."""

    def __init__(
        self,
        llm: llama_cpp.Llama,
        prompt: str | bytes | Sequence[int],
        sampler: Sampler,
        max_tokens: int | None,
        stop: str | Sequence[str],
        cancel: Cancel | None,
    ) -> None:
        self.llm = llm
        self.sampler = sampler
        self.vocabulary = sampler.constraint.vocabulary
        self.width = llm.n_vocab()
        if len(self.vocabulary) > self.width:
            raise ValueError(f"the sampler's vocabulary has {len(self.vocabulary)} tokens, the model {self.width}")
        context = len(llm.input_ids)  # n_ctx() may be more, rounded up
        tokens = _prompt_tokens(llm, prompt)
        self.prompt_length = len(tokens)
        room = context - len(tokens)
        if room <= 0:
            raise ValueError(f"the prompt has {len(tokens)} tokens, the context {context}")
        self.budget, self.budget_reason = _budget(room, max_tokens)
        # What the model must have read for the next choice.
        self.sequence = np.empty(context, dtype=np.intc)
        self.sequence[: len(tokens)] = tokens
        self.length = len(tokens)
        self.text = _Text([stop] if isinstance(stop, str) else list(stop))
        self.ask = _as_callable(cancel)
        self.cancelled = False
        self.model_ms = 0.0

    def events(self) -> Iterator[Event]:
        started = time.perf_counter()
        ends = frozenset(self.vocabulary.end_tokens)
        count = 0
        reason: Reason | None = None
        while reason is None:
            if self._only_end_allowed(len(ends)):
                reason = "grammar_end"
            elif count >= self.budget:
                reason = self.budget_reason
            elif not self._evaluate():
                reason = "cancelled" if self.cancelled else "model"
            else:
                allowed = self.sampler.allowed_count
                token = self.sampler.sample_at(_logits_address(self.llm), self.width)
                if token < 0:
                    reason = self.sampler.dead_end or "nothing_allowed"
                elif not self.sampler.accept(token):
                    raise Error(f"token {token} was sampled but is not allowed")
                elif token in ends:
                    reason = "end_token"
                else:
                    count += 1
                    self._append(token)
                    piece = self.text.take(self.vocabulary.token_bytes(token))
                    yield Event(piece, (token,), self.sampler.accepting, allowed)
                    if self.text.stopped:
                        reason = "stop_string"
        yield self._last_event(reason, started)

    def _only_end_allowed(self, ends: int) -> bool:
        return self.sampler.accepting and self.sampler.allowed_count == ends

    def _append(self, token: int) -> None:
        if self.length < len(self.sequence):
            self.sequence[self.length] = token
        self.length += 1

    def _evaluate(self) -> bool:
        """Has the model read the sequence, in batches, so that a long prompt can be cancelled; whether all was.

        The last token is always read alone: llama.cpp's sums depend on the size of a batch, and a prompt of
        which the cache holds all but the end must give the logits that it gave the first time.
        """
        last = self.length - 1
        at = cut_back(self.llm, self.sequence[:last])
        while at <= last:
            if self.ask():
                self.cancelled = True
                return False
            end = min(at + self.llm.n_batch, max(last, at + 1))
            started = time.perf_counter()
            try:
                self.llm.eval(self.sequence[at:end].tolist())
            except RuntimeError:
                return False
            self.model_ms += (time.perf_counter() - started) * 1e3
            at = end
        return True

    def _last_event(self, reason: Reason, started: float) -> Event:
        rest = self.text.rest()
        complete = self.sampler.accepting
        if reason == "stop_string":
            complete = self.sampler.constraint.grammar.matches(self.text.written)
        status = _status(reason, complete)
        evidence = {
            **self.sampler.evidence,
            "model": self.llm.metadata.get("general.name", ""),
            "llama_cpp_python": _llama_cpp_version(),
            "prompt_tokens": self.prompt_length,
            "invalid_bytes": self.text.buffer.invalid_bytes,
            "status": status,
            "reason": reason,
            "model_ms": self.model_ms,
            "total_ms": (time.perf_counter() - started) * 1e3,
        }
        return Event(rest, (), complete, 0, status, reason, self.text.buffer.pending, evidence)


class _Text:
    """Token bytes to text: whole code points, nothing of a stop string nor of what may become one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops = [stop for stop in stops if stop]
        self.buffer = Utf8Buffer()
        self.held = ""
        self.written = ""
        self.stopped = False

    def take(self, data: bytes) -> str:
        self.held += self.buffer.take(data).decode("utf-8", "replace")
        found = [at for at in (self.held.find(stop) for stop in self.stops) if at >= 0]
        if found:
            self.stopped = True
            self.held = self.held[: min(found)]
            return self.rest()
        return self._hand_on(len(self.held) - self._beginning_of_stop())

    def rest(self) -> str:
        return self._hand_on(len(self.held))

    def _hand_on(self, count: int) -> str:
        text, self.held = self.held[:count], self.held[count:]
        self.written += text
        return text

    def _beginning_of_stop(self) -> int:
        """How many characters at the end of what is held a stop string begins with."""
        longest = min(max(map(len, self.stops), default=1) - 1, len(self.held))
        for count in range(longest, 0, -1):
            if any(stop.startswith(self.held[-count:]) for stop in self.stops):
                return count
        return 0


def _status(reason: Reason, complete: bool) -> Status:
    match reason:
        case "end_token" | "grammar_end":
            return "complete"
        case "stop_string":
            return "complete" if complete else "length"
        case "max_tokens" | "context_full":
            return "length"
        case "cancelled":
            return "cancelled"
        case "model":
            return "error"
    return "dead_end"


def _budget(room: int, max_tokens: int | None) -> tuple[int, Reason]:
    if max_tokens is not None and max_tokens < 0:
        raise ValueError("max_tokens is negative")
    if max_tokens is None or max_tokens > room:
        return room, "context_full"
    return max_tokens, "max_tokens"


def _as_callable(cancel: Cancel | None) -> Callable[[], bool]:
    if cancel is None:
        return lambda: False
    is_set = getattr(cancel, "is_set", None)
    if is_set is not None:
        return cast(Callable[[], bool], is_set)
    if not callable(cancel):
        raise TypeError("cancel: expected a callable or an object with is_set()")
    return cancel


def _prompt_tokens(llm: llama_cpp.Llama, prompt: str | bytes | Sequence[int]) -> list[int]:
    if isinstance(prompt, str):
        prompt = prompt.encode()
    tokens: list[int] = llm.tokenize(prompt, special=True) if isinstance(prompt, bytes) else list(prompt)
    if not tokens and llm.token_bos() >= 0:
        tokens = [llm.token_bos()]
    if not tokens:
        raise ValueError("the prompt is empty, and the model has no token to begin with")
    return tokens


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


def _logits_address(llm: llama_cpp.Llama) -> int:
    address = ctypes.cast(llm._ctx.get_logits_ith(-1), ctypes.c_void_p).value
    if address is None:
        raise Error("llama.cpp has no logits for the last token")
    return address


def _llama_cpp_version() -> str:
    return importlib.metadata.version("llama-cpp-python")
