"""Constrained text from a llama_cpp.Llama, token by token.

The loop is this library's own: logits are read where llama.cpp left them, no candidate array is built, text
leaves as whole code points, forced tokens are not sampled, and the key-value cache keeps what a prompt shares
with the last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from ._core import Grammar, Sampler, Utf8Buffer
from .decoding import BatchRefused, Decoding, exclusive, readable
from .errors import Error
from .evidence import llama_cpp_version, model_identity
from .prefix import Seam, place_prefix
from .ranges import at_least
from .reasons import Reason, Status
from .validation import Violation, check

if TYPE_CHECKING:
    import llama_cpp


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
    #: How many tokens were allowed where the last one was chosen; 0 where it was forced, since nobody asked.
    allowed: int = 0
    #: The tokens were not sampled: the grammar left no choice.
    forced: bool = False
    status: Status | None = None
    reason: Reason | None = None
    #: Bytes of a code point that was cut off by the end.
    pending: bytes = b""
    evidence: dict[str, Any] = field(default_factory=dict)
    #: As in Result.
    violations: tuple[Violation, ...] | None = None
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """A whole generation. `tokens` leaves the end token out, `complete` says that `text`, after the prefix if there
    was one, is a sentence. `pending` are the bytes of a code point that was cut off by the end.

    Under a grammar that was made from a JSON Schema `violations` is what `validate` says of the text, the prefix
    included; None under any other grammar, and without the package jsonschema. `spans` says where in the grammar's
    source document the strings marked "x-source-span" stand, see `source_spans`.
    """

    text: str
    status: Status
    reason: Reason
    tokens: tuple[int, ...]
    complete: bool
    pending: bytes
    evidence: dict[str, Any]
    violations: tuple[Violation, ...] | None = None
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)


def generate(
    llm: llama_cpp.Llama,
    prompt: str | bytes | Sequence[int],
    sampler: Sampler,
    *,
    max_tokens: int | None = None,
    stop: str | Sequence[str] = (),
    cancel: Cancel | None = None,
    prefix: str | bytes = b"",
    heal: bool = True,
) -> Result:
    """The text that `llm` writes after `prompt` under `sampler`; see `stream`."""
    texts: list[str] = []
    tokens: list[int] = []
    for event in stream(
        llm, prompt, sampler, max_tokens=max_tokens, stop=stop, cancel=cancel, prefix=prefix, heal=heal
    ):
        texts.append(event.text)
        tokens.extend(event.tokens)
    if event.status is None or event.reason is None:
        raise Error("the stream ended without a status")
    return Result(
        "".join(texts),
        event.status,
        event.reason,
        tuple(tokens),
        event.complete,
        event.pending,
        event.evidence,
        event.violations,
        event.spans,
    )


def stream(
    llm: llama_cpp.Llama,
    prompt: str | bytes | Sequence[int],
    sampler: Sampler,
    *,
    max_tokens: int | None = None,
    stop: str | Sequence[str] = (),
    cancel: Cancel | None = None,
    prefix: str | bytes = b"",
    heal: bool = True,
) -> Iterator[Event]:
    """Yields the text that `llm` writes after `prompt` as it comes, in events; the last one has the status.

    The sampler itself is not moved: each call works on a copy of it at the start of a text, so one sampler
    serves any number of prompts, also in streams that run in turn.

    Args:
        prompt: text, or tokens as they are. Texts get the model's beginning-of-sentence token.
        max_tokens: at most so many, None for as many as the context holds. Forced tokens count.
        stop: texts that end the generation; they are left out of it.
        cancel: asked between two tokens, between two batches of the prompt, and about every 10 ms while a batch is
            computed (on the CPU: llama.cpp has no such question on other backends).
        prefix: text that stands already, such as the beginning of an assistant's turn. The model reads it after the
            prompt, the constraint goes on from it, the events do not repeat it. RejectedToken (`.offset`) when the
            grammar refuses it, ValueError when it is not whole UTF-8.
        heal: may the prefix's last tokens be chosen again, where a longer one can cover them and what follows? They
            are then the first of the tokens; the text stays as it is. Those inside the prefix do not count.
    """
    return _Run(llm, prompt, sampler.restarted(), max_tokens, stop, cancel, prefix, heal).events()


class _Run:
    """One generation."""

    def __init__(
        self,
        llm: llama_cpp.Llama,
        prompt: str | bytes | Sequence[int],
        sampler: Sampler,
        max_tokens: int | None,
        stop: str | Sequence[str],
        cancel: Cancel | None,
        prefix: str | bytes,
        heal: bool,
    ) -> None:
        if not llm._ctx.ctx:
            raise Error("the model is closed")
        tokens = _prompt_tokens(llm, prompt)
        self.prefix = prefix.encode() if isinstance(prefix, str) else prefix
        self.seam = Seam()
        if self.prefix:
            self.seam = place_prefix(llm, sampler, tokens, self.prefix, heal and max_tokens != 0)
            tokens = [*tokens, *self.seam.tokens]
        self.decoding = Decoding(llm, sampler, tokens, len(self.seam.standing))
        self.sampler = sampler
        self.vocabulary = sampler.constraint.vocabulary
        self.prompt_length = len(tokens)
        self.budget, self.budget_reason = _budget(self.decoding.room - len(self.seam.standing), max_tokens)
        self.text = _Text(_stop_strings(stop))
        self.ask = as_callable(cancel)
        self.count = 0
        self.reason: Reason | None = None

    def events(self) -> Iterator[Event]:
        started = time.perf_counter()
        while self.reason is None:
            if self.decoding.only_end_allowed():
                self.reason = Reason.GRAMMAR_END
            elif self.count >= self.budget:
                self.reason = self.budget_reason
            else:
                yield from self._forced()
                if self.reason is None and self.count < self.budget and not self.decoding.only_end_allowed():
                    yield from self._sampled()
        yield self._last_event(self.reason, started)

    def _forced(self) -> Iterator[Event]:
        tokens = self.decoding.forced(self.seam.given)
        if sum(len(self.vocabulary.token_bytes(token)) for token in tokens) < len(self.seam.given):
            return
        for token in tokens:
            if self.count >= self.budget:
                return
            if self.ask():
                self.reason = Reason.CANCELLED
                return
            yield self._event(token, 0, forced=True)
            if self.reason is not None:
                return

    def _sampled(self) -> Iterator[Event]:
        if self.seam.standing and not self.seam.standing[0].longer:
            yield self._event(self.seam.standing[0].token, 0, forced=True)
            return
        try:
            with exclusive(self.decoding.llm):
                if not self.decoding.evaluate(self.ask):
                    self.reason = Reason.CANCELLED
                    return
                allowed = self.sampler.allowed_count
                token = self._heal() if self.seam.standing else self.decoding.choose()
        except BatchRefused:
            self.reason = Reason.MODEL
            return
        if token < 0:
            self.reason = Reason[(self.sampler.dead_end or Reason.NOTHING_ALLOWED).upper()]
        elif token in self.decoding.ends:
            self.decoding.append(token)
            self.reason = Reason.END_TOKEN
        else:
            yield self._event(token, allowed, forced=False)

    def _heal(self) -> int:
        """Chooses between the token that stands and the longer ones."""
        standing = self.seam.standing[0]
        choices = [standing.token, *standing.longer]
        logits = np.full(self.decoding.width, -np.inf, dtype=np.float32)
        logits[choices] = self.decoding.logits()[choices]
        return self.sampler.sample(logits)

    def _event(self, token: int, allowed: int, *, forced: bool) -> Event:
        self.decoding.append(token)
        inside = bool(self.seam.given)
        added = self.seam.take(token, self.vocabulary.token_bytes(token))
        if added or not inside:
            self.count += 1
        piece = self.text.take(added)
        if self.text.stopped:
            self.reason = Reason.STOP_STRING
        return Event(piece, (token,), self._complete(), allowed, forced)

    def _complete(self) -> bool:
        return self.seam.accepting if self.seam.given else self.sampler.accepting

    def _last_event(self, reason: Reason, started: float) -> Event:
        rest = self.text.rest()
        complete = self._complete()
        if reason is Reason.STOP_STRING:
            complete = self.sampler.constraint.grammar.matches(self.prefix + self.text.written.encode())
        status: Status = "complete" if reason is Reason.STOP_STRING and complete else reason.status
        evidence = {
            **self.sampler.evidence,
            "model": model_identity(self.decoding.llm),
            "llama_cpp_python": llama_cpp_version(),
            "prompt_tokens": self.prompt_length,
            "prefix_bytes": len(self.prefix),
            "healed": self.seam.healed,
            "invalid_bytes": self.text.buffer.invalid_bytes,
            "status": status,
            "reason": reason.value,
            "code": reason.code,
            "model_ms": self.decoding.model_ms,
            "total_ms": (time.perf_counter() - started) * 1e3,
        }
        violations, spans = _validated(self.sampler.constraint.grammar, self.prefix.decode() + self.text.written)
        pending = self.text.buffer.pending
        return Event(rest, (), complete, 0, False, status, reason, pending, evidence, violations, spans)


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


def _validated(grammar: Grammar, text: str) -> tuple[tuple[Violation, ...] | None, dict[str, tuple[int, int]]]:
    if grammar.kind != "json_schema":
        return None, {}
    try:
        violations, spans = check(text, grammar.source, grammar.document)
    except ImportError:
        return None, {}
    return tuple(violations), spans


def _budget(room: int, max_tokens: int | None) -> tuple[int, Reason]:
    if max_tokens is None or at_least(0, "max_tokens", max_tokens) > room:
        return room, Reason.CONTEXT_FULL
    return max_tokens, Reason.MAX_TOKENS


def _stop_strings(stop: str | Sequence[str]) -> list[str]:
    stops: list[str] = [stop] if isinstance(stop, str) else list(stop)
    for each in stops:
        if not isinstance(each, str):
            raise TypeError(f"stop: expected str, not {type(each).__name__}")
    return stops


def as_callable(cancel: Cancel | None) -> Callable[[], bool]:
    """What to ask whether to go on: False as long as nobody said stop."""
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
    tokens: list[int] = llm.tokenize(readable(prompt), special=True) if isinstance(prompt, bytes) else list(prompt)
    if not tokens and llm.token_bos() >= 0:
        tokens = [llm.token_bos()]
    if not tokens:
        raise ValueError("the prompt is empty, and the model has no token to begin with")
    return tokens
