"""An assistant's turn: free text and calls, each call under the grammar of the tools that are allowed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core import Constraint, Grammar, Sampler, Vocabulary
from ..chat_prompt import ChatPrompt, Piece
from ..errors import Error
from ..generation import Cancel, stream
from ..reasons import Reason, Status
from .chat_formats import ChatFormat
from .declaration import Tool
from .envelope import call_schema
from .free_text import control_token, free_text

if TYPE_CHECKING:
    import llama_cpp


@dataclass(slots=True)
class Turn:
    """What was written. Calls are whole payloads only when `complete`; then, and only then, may a broker see them."""

    text: str = ""
    payloads: list[str] = field(default_factory=list)
    complete: bool = False
    #: A call was begun, whatever became of it.
    calling: bool = False
    status: Status = "error"
    reason: Reason = Reason.INTERNAL
    #: One record for each phase.
    evidence: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of a turn as it comes; of a call's payload, or of the free text before it."""

    text: str
    in_call: bool


class TurnWriter:
    """Writes turns of one model in one chat format. Grammars are compiled once."""

    def __init__(
        self,
        llm: llama_cpp.Llama,
        vocabulary: Vocabulary,
        prompt: ChatPrompt,
        chat_format: ChatFormat,
        settings: Mapping[str, Any],
    ) -> None:
        self._llm = llm
        self._vocabulary = vocabulary
        self._prompt = prompt
        self._format = chat_format
        self._settings = dict(settings)
        self._samplers: dict[Any, Sampler] = {}

    def write(
        self,
        tokens: Sequence[int],
        tools: Sequence[Tool],
        *,
        must_call: bool,
        max_calls: int,
        max_tokens: int,
        cancel: Cancel | None = None,
    ) -> Generator[Written, None, Turn]:
        """Writes what comes after the prompt `tokens`. No tools: free text that holds no trigger."""
        turn = Turn()
        phases = _Phases(self._llm, turn, list(tokens), max_tokens, cancel)
        if not must_call or not tools:
            if not (yield from self._free_text(phases, bool(tools))):
                return turn
        elif self._format.begin:
            phases.append(self._prompt.host_tokens(self._format.begin))
        turn.calling = True
        while True:
            payload = yield from self._payload(phases, tools)
            if payload is None:
                return turn
            turn.payloads.append(payload)
            if not self._format.separator or len(turn.payloads) >= max_calls:
                turn.complete = True
                return turn
            more = yield from self._between(phases)
            if more is None:
                return turn
            if not more:
                turn.complete = True
                return turn

    def pieces(self, text: str, payloads: Sequence[str]) -> tuple[Piece, ...]:
        """A turn as a part of a later prompt: what the model wrote is untrusted, the markers are the host's."""
        pieces = [Piece(text)] if text else []
        for index, payload in enumerate(payloads):
            before = self._format.separator if index else self._format.begin
            pieces += [Piece(before, trusted=True), Piece(payload)]
        if payloads:
            pieces.append(Piece(self._format.end, trusted=True))
        return tuple(pieces)

    def _free_text(self, phases: _Phases, may_call: bool) -> Generator[Written, None, bool]:
        """True when the trigger came, False at the end of the turn."""
        trigger, turn = self._format.trigger, phases.turn
        control = control_token(self._vocabulary, trigger) is not None
        sampler = self._sampler(
            ("free text", may_call), lambda: free_text(self._format, self._vocabulary, may_call=may_call)
        )
        stop = [] if control or self._format.at_start or not may_call else [trigger]
        kept = list(phases.tokens)
        waiting = ""  # the first character of a turn may be a call's
        for text in phases.run(sampler, stop):
            waiting += text
            if self._format.at_start and waiting == trigger:
                continue
            turn.text += waiting
            yield Written(waiting, False)
            waiting = ""
        called = turn.reason is Reason.STOP_STRING or (
            turn.reason is Reason.GRAMMAR_END and (control or waiting == trigger)
        )
        if not called:
            turn.complete = turn.reason in (Reason.END_TOKEN, Reason.GRAMMAR_END)
            return False
        if self._format.at_start:
            phases.tokens = kept
        else:
            phases.append(self._prompt.host_tokens(self._format.begin[len(trigger) :]))
        return True

    def _payload(self, phases: _Phases, tools: Sequence[Tool]) -> Generator[Written, None, str | None]:
        name = ""
        if self._format.after_name:
            spelled = {tool.name + self._format.after_name: tool for tool in tools}
            name = yield from self._whole(
                phases, self._sampler(("name", *spelled), lambda: Grammar.from_choices(list(spelled)))
            )
            if name not in spelled:
                return None
            tools = [spelled[name]]
        names = tuple(tool.name for tool in tools)
        sampler = self._sampler(("call", *names), lambda: call_grammar(tools, self._format))
        body = yield from self._whole(phases, sampler)
        return name + body if body else None

    def _whole(self, phases: _Phases, sampler: Sampler) -> Generator[Written, None, str]:
        """A sentence of the sampler's grammar, "" when it was cut off."""
        text = ""
        for piece in phases.run(sampler, []):
            text += piece
            yield Written(piece, True)
        return text if phases.turn.status == "complete" else ""

    def _between(self, phases: _Phases) -> Generator[Written, None, bool | None]:
        """True when another payload follows, None when the turn was cut off."""
        separator, end = self._format.separator, self._format.end
        sampler = self._sampler("between", lambda: Grammar.from_choices([separator, end]))
        text = "".join(phases.run(sampler, []))
        yield from ()
        return None if phases.turn.status != "complete" else text == separator

    def _sampler(self, key: Any, grammar: Callable[[], Grammar]) -> Sampler:
        if key not in self._samplers:
            constraint: Constraint = grammar().compile(self._vocabulary)
            self._samplers[key] = Sampler(constraint, **self._settings)
        return self._samplers[key]


def call_grammar(tools: Sequence[Tool], chat_format: ChatFormat) -> Grammar:
    """The JSON object of a call of one of the tools: its name, its arguments, its version, its hash, in this order."""
    calls = [call_schema(tool.name, tool.version, tool.schema, tool.schema_hash, chat_format.keys) for tool in tools]
    schema = calls[0] if len(calls) == 1 else {"oneOf": calls}
    return Grammar.from_json_schema(schema, profile="strict", whitespace="compact", file="call")


class _Phases:
    """The sequence of one turn, phase after phase."""

    def __init__(
        self, llm: llama_cpp.Llama, turn: Turn, tokens: list[int], max_tokens: int, cancel: Cancel | None
    ) -> None:
        self._llm = llm
        self.turn = turn
        self.tokens = tokens
        self._left = max_tokens
        self._cancel = cancel

    def append(self, tokens: Iterable[int]) -> None:
        """Puts the host's own tokens into the sequence."""
        self.tokens += tokens

    def run(self, sampler: Sampler, stop: Sequence[str]) -> Generator[str, None, None]:
        """The text of one phase as it comes; the turn then has its status, and the sequence its tokens."""
        turn = self.turn
        turn.status, turn.reason = "error", Reason.INTERNAL
        for event in stream(
            self._llm, self.tokens, sampler, max_tokens=self._left, stop=stop, cancel=self._cancel, heal=False
        ):
            self.tokens += event.tokens
            self._left -= len(event.tokens)
            if event.text:
                yield event.text
            if event.status is not None and event.reason is not None:
                turn.status, turn.reason = event.status, event.reason
                turn.evidence.append(event.evidence)
        if turn.reason is Reason.INTERNAL:
            raise Error("the stream ended without a status")
