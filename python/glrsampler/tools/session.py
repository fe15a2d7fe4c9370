"""The chat loop: prompt, constrained call, broker, reinsertion, answer.

    session = glr.tools.Session(llm, [glr.tools.calculator], automatic=["calculator"])
    print(session.ask("What is 12 * 34?").text)

What may run, and who is asked, is fixed when the session is made. No text changes it: not a message, not a result, not
what the model writes.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .._core import Vocabulary
from ..chat_prompt import ChatPrompt
from ..decoding import tokenizer_of
from ..errors import Error, ToolError
from ..evidence import model_identity
from ..generation import Cancel, as_callable
from ..ranges import at_least
from ..reasons import Reason, Status
from ..untrusted import Untrusted
from .broker import MAX_CALL_BYTES, Broker, Confirm, Outcome
from .canonical import digest
from .chat_formats import ChatFormat, format_named, format_of
from .conversation import ChatMessage, Conversation
from .declaration import Tool
from .manifest import Manifest
from .reinsertion import Source, render_result
from .turn import Turn, TurnWriter

if TYPE_CHECKING:
    import llama_cpp


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question: the last turn's text, and everything on the way there."""

    text: str
    status: Status
    reason: Reason
    #: What to append to the messages: assistants' turns and tools' results, in the style of OpenAI.
    messages: tuple[dict[str, Any], ...]
    outcomes: tuple[Outcome, ...]
    #: For each turn its phases' records and its calls'; operational facts only.
    evidence: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """A piece of a reply as it comes. A call's text is shown while it is written; nothing runs before it is whole."""

    kind: Literal["text", "call", "outcome", "reply"]
    text: str = ""
    outcome: Outcome | None = None
    reply: Reply | None = None


@dataclass(slots=True)
class _Progress:
    messages: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)


class Session:
    """A conversation with a model that may call tools.

    Args:
        llm: with a chat template.
        tools: all that may ever be called here.
        automatic: names of reading tools that run without a question.
        confirm, confirm_timeout: who is asked about every other call, and for how many seconds; see Broker.
        system: what the model is told first.
        chat_format: hermes, llama, mistral, functionary or json; what the chat template was made for by default.
        tool_choice: "auto", "required", "none", or the name of the one tool to call; for the first turn of a reply,
            those after it are "auto".
        max_calls: in one turn. More than one lets the model write several at once.
        max_steps: turns with calls in one reply; the turn after them is text.
        max_tokens: of one turn.
        result_tokens: of one result in the prompt; what is longer is cut, and says so.
        settings: of glr.Sampler, for every phase: temperature, seed, ...
    """

    def __init__(
        self,
        llm: llama_cpp.Llama,
        tools: Iterable[Tool] = (),
        *,
        automatic: Collection[str] = (),
        confirm: Confirm | None = None,
        confirm_timeout: float | None = None,
        system: str = "",
        chat_format: str | ChatFormat | None = None,
        tool_choice: str = "auto",
        max_calls: int = 1,
        max_steps: int = 4,
        max_tokens: int = 512,
        max_call_bytes: int = MAX_CALL_BYTES,
        result_tokens: int = 256,
        **settings: Any,
    ) -> None:
        at_least(1, "max_calls", max_calls)
        at_least(1, "max_steps", max_steps)
        at_least(1, "max_tokens", max_tokens)
        at_least(1, "result_tokens", result_tokens)
        self.manifest = Manifest(tools)
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        self._choice = self._checked(tool_choice)
        self._max_calls, self._max_steps, self._max_tokens = max_calls, max_steps, max_tokens
        vocabulary = Vocabulary.from_llama(llm)
        prompt = ChatPrompt(llm, Untrusted(vocabulary, tokenizer_of(llm)))
        if chat_format is None:
            chat_format = format_of(prompt.template)
        self.chat_format = format_named(chat_format) if isinstance(chat_format, str) else chat_format
        self.untrusted = prompt.untrusted
        self._turns = TurnWriter(llm, vocabulary, prompt, self.chat_format, settings)
        self._conversation = Conversation(prompt, self.manifest, self.chat_format, self._turns, result_tokens)
        self._result_tokens = result_tokens
        self.broker = Broker(
            self.manifest,
            automatic=automatic,
            confirm=confirm,
            confirm_timeout=confirm_timeout,
            session=digest(
                {
                    "model": model_identity(llm),
                    "vocabulary": vocabulary.fingerprint,
                    "manifest": self.manifest.hash,
                    "chat_format": self.chat_format.name,
                }
            ),
            max_call_bytes=max_call_bytes,
        )

    def ask(self, text: str, *, documents: Mapping[str, str] | None = None, cancel: Cancel | None = None) -> Reply:
        """The reply to `text`, which goes on from `messages` and is appended to it.

        `documents`: texts by their names, which the model is shown as data.
        """
        for event in self.stream(text, documents=documents, cancel=cancel):
            if event.reply is not None:
                return event.reply
        raise Error("the stream ended without a reply")

    def stream(
        self, text: str, *, documents: Mapping[str, str] | None = None, cancel: Cancel | None = None
    ) -> Iterator[SessionEvent]:
        """What `ask` does, as it comes; the last event has the reply."""
        shown = [self.render(body, source="document", name=name) for name, body in (documents or {}).items()]
        question = {"role": "user", "content": "\n\n".join([*shown, text])}
        for event in self.run([*self.messages, question], cancel=cancel):
            if event.reply is not None:
                self.messages += [question, *event.reply.messages]
            yield event

    def run(
        self, messages: Sequence[ChatMessage], *, tool_choice: str | None = None, cancel: Cancel | None = None
    ) -> Iterator[SessionEvent]:
        """The reply to messages in the style of OpenAI; `messages` of the session are neither read nor changed."""
        choice = self._choice if tool_choice is None else self._checked(tool_choice)
        progress = _Progress()
        for step in range(self._max_steps + 1):
            tools = self._allowed("none" if step == self._max_steps else choice)
            tokens = self._conversation.tokens([*messages, *progress.messages])
            turn = yield from self._turn(tokens, tools, choice != "auto", cancel)
            outcomes = yield from self._execute(turn, tools, cancel)
            self._record(progress, turn, outcomes)
            if not turn.complete or all(outcome.envelope is None for outcome in outcomes):
                yield SessionEvent("reply", reply=self._reply(progress, turn))
                return
            choice = "auto"
        raise Error("a turn without tools made a call")

    def render(self, content: Any, *, source: Source, name: str) -> str:
        """A text as the model is shown it: as data, between markers; see `render_result`."""
        return render_result(
            content, source=source, name=name, untrusted=self.untrusted, max_tokens=self._result_tokens
        ).text

    def _turn(
        self, tokens: list[int], tools: list[Tool], must_call: bool, cancel: Cancel | None
    ) -> Generator[SessionEvent, None, Turn]:
        writing = self._turns.write(
            tokens, tools, must_call=must_call, max_calls=self._max_calls, max_tokens=self._max_tokens, cancel=cancel
        )
        while True:
            try:
                written = next(writing)
            except StopIteration as end:
                turn: Turn = end.value
                return turn
            yield SessionEvent("call" if written.in_call else "text", written.text)

    def _execute(
        self, turn: Turn, tools: list[Tool], cancel: Cancel | None
    ) -> Generator[SessionEvent, None, list[Outcome]]:
        """Hands the turn's calls to the broker, one after the other. Of a turn that was cut off, none is executed."""
        if not turn.calling:
            return []
        cancelled = as_callable(cancel)
        allowed = [tool.name for tool in tools]
        outcomes = []
        for payload in turn.payloads or [""]:
            complete = turn.complete and not cancelled()
            outcome = self.broker.execute(
                payload, self.broker.issue(allowed), complete=complete, chat_format=self.chat_format
            )
            outcomes.append(outcome)
            yield SessionEvent("outcome", outcome=outcome)
        return outcomes

    def _record(self, progress: _Progress, turn: Turn, outcomes: list[Outcome]) -> None:
        progress.outcomes += outcomes
        progress.evidence.append({"phases": turn.evidence, "calls": [outcome.evidence for outcome in outcomes]})
        message: dict[str, Any] = {"role": "assistant", "content": turn.text}
        calls = [outcome for outcome in outcomes if outcome.envelope is not None]
        if calls:
            message["tool_calls"] = [_tool_call(outcome) for outcome in calls]
        progress.messages.append(message)
        progress.messages += [
            {"role": "tool", "tool_call_id": outcome.request, "content": outcome.text()} for outcome in calls
        ]

    def _reply(self, progress: _Progress, turn: Turn) -> Reply:
        return Reply(
            turn.text, turn.status, turn.reason, tuple(progress.messages), tuple(progress.outcomes),
            tuple(progress.evidence),
        )  # fmt: skip

    def _checked(self, choice: str) -> str:
        if choice not in ("auto", "required", "none") and choice not in self.manifest:
            raise ToolError(f"tool_choice: 'auto', 'required', 'none' or the name of a tool, not {choice!r}")
        if choice == "required" and not len(self.manifest):
            raise ToolError("tool_choice: 'required', and there is no tool")
        return choice

    def _allowed(self, choice: str) -> list[Tool]:
        if choice == "none":
            return []
        return [tool for tool in self.manifest if choice in ("auto", "required", tool.name)]


def _tool_call(outcome: Outcome) -> dict[str, Any]:
    envelope = outcome.envelope
    assert envelope is not None
    function = {"name": envelope.call.name, "arguments": envelope.call.arguments_text}
    return {"id": outcome.request, "type": "function", "function": function}
