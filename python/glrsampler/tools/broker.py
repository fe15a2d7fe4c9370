"""The one place where a call becomes an action.

A call is executed when, in this order: the host issued its request and nobody used it; the text is whole, of bounded
size, and one JSON object with the fields of a call; the tool is in the manifest and allowed for this request; version
and schema hash are the tool's own; the arguments meet its schema; and it is authorised. Reading tools that were
named when the broker was made are authorised; for anything else a person is asked, each time. The first thing that
does not hold ends it, with a reason, and nothing is tried again.

Nothing here looks at any other text: not at messages, not at results, not at what the model wrote around the call.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import ToolError
from ..ranges import at_least
from ..reasons import Reason
from .canonical import canonical, from_canonical
from .chat_formats import JSON, ChatFormat
from .declaration import Tool
from .envelope import Authorisation, Call, Envelope
from .manifest import Manifest
from .process import run_here, run_isolated
from .refusal import Refusal

#: Asked with the whole envelope; only True itself is a yes.
Confirm = Callable[[Envelope], bool]

MAX_CALL_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call. `reason` is EXECUTED when the tool ran and returned; `result` is then its value.

    `error` says what happened otherwise; for TOOL_FAILED it is the exception's text, which is data as a result is.
    """

    request: str
    tool: str
    reason: Reason
    result: Any
    error: str
    #: None when the text was no call. Its authorisation is "none" unless the tool was started.
    envelope: Envelope | None
    #: Operational facts, by evidence.schema.json beside this file; no arguments and no results.
    evidence: dict[str, Any]

    @property
    def executed(self) -> bool:
        """The tool ran and returned a result."""
        return self.reason is Reason.EXECUTED

    def text(self) -> str:
        """Canonical JSON for the model: the result, or the reason and what it means."""
        if self.executed:
            return canonical(self.result).decode()
        return canonical({"error": self.reason.value, "message": self.error}).decode()


class Broker:
    """Decides on calls and executes them. Safe for threads; what it allows is fixed when it is made.

    Args:
        automatic: names of reading tools that run without a question. ToolError for any other name.
        confirm: asked before every other call, in the caller's thread, or with `confirm_timeout` seconds in one of its
            own. False, None, an exception and no answer in time are all no.
        session: what the session is composed of, for the envelope.
        max_call_bytes: of the text of one call.
    """

    def __init__(
        self,
        manifest: Manifest,
        *,
        automatic: Collection[str] = (),
        confirm: Confirm | None = None,
        confirm_timeout: float | None = None,
        session: str = "",
        max_call_bytes: int = MAX_CALL_BYTES,
    ) -> None:
        for name in automatic:
            tool = manifest.get(name)
            if tool is None:
                raise ToolError(f"automatic: the manifest has no tool {name!r}")
            if tool.capability != "read":
                raise ToolError(f"automatic: {name} is a writing tool; each of its calls waits for a yes")
        if confirm_timeout is not None and not 0.0 < confirm_timeout <= threading.TIMEOUT_MAX:
            raise ToolError(
                f"confirm_timeout: {confirm_timeout} is not above 0 and at most {threading.TIMEOUT_MAX:.0f}"
            )
        at_least(1, "max_call_bytes", max_call_bytes)
        self.manifest = manifest
        self.session = session
        self._automatic = frozenset(automatic)
        self._confirm = confirm
        self._confirm_timeout = confirm_timeout
        self._max_call_bytes = max_call_bytes
        self._lock = threading.Lock()
        # Guarded by the lock. What may be called under a request that waits; the ids of those that came.
        self._waiting: dict[str, frozenset[str]] = {}
        self._used: set[str] = set()

    def issue(self, allowed: Collection[str] | None = None) -> str:
        """The id of a new request, good for one call of one of the tools named (default: any)."""
        request = secrets.token_hex(16)
        with self._lock:
            self._waiting[request] = frozenset(
                tool.name for tool in self.manifest if allowed is None or tool.name in allowed
            )
        return request

    def execute(
        self, text: str | bytes, request: str, *, complete: bool = True, chat_format: ChatFormat = JSON
    ) -> Outcome:
        """Executes the call that is the whole of `text`, or says why not; never raises for what text or request are.

        `complete`: the text ended as its grammar says; False for what a limit or a cancellation cut off.
        """
        progress = _Progress(request if isinstance(request, str) else "")  # which no request has
        try:
            result = self._decide(text, complete, chat_format, progress)
        except Refusal as refusal:
            return self._outcome(progress, refusal.reason, None, str(refusal))
        return self._outcome(progress, Reason.EXECUTED, result, "")

    def _decide(self, text: str | bytes, complete: bool, chat_format: ChatFormat, progress: _Progress) -> Any:
        allowed = self._consume(progress.request)
        if not complete:
            raise Refusal(Reason.CALL_INCOMPLETE)
        call = self._read(text, chat_format)
        progress.envelope = Envelope(call, progress.request, self.session, "none")
        tool = self._tool(call, allowed)
        progress.tool = tool
        arguments = self._arguments(call, tool)
        pending = replace(progress.envelope, authorisation="pending")
        progress.envelope = replace(pending, authorisation=self._authorise(pending, tool))
        started = time.perf_counter()
        try:
            data = run_isolated(tool, arguments) if tool.isolated else run_here(tool, arguments)
        finally:
            progress.tool_ms = (time.perf_counter() - started) * 1e3
        progress.result_bytes = len(data)
        return from_canonical(data)

    def _consume(self, request: str) -> frozenset[str]:
        """A request is used up by whatever comes first, right or wrong."""
        with self._lock:
            if request in self._used:
                raise Refusal(Reason.REPLAYED_REQUEST)
            allowed = self._waiting.pop(request, None)
            if allowed is None:
                raise Refusal(Reason.UNKNOWN_REQUEST)
            self._used.add(request)
            return allowed

    def _read(self, text: str | bytes, chat_format: ChatFormat) -> Call:
        if not isinstance(text, (str, bytes)):
            raise Refusal(Reason.CALL_MALFORMED, f"the text of the call is no text, but {type(text).__name__}")
        # A character has at least one byte: the cheap test first.
        if len(text) > self._max_call_bytes:
            raise Refusal(Reason.CALL_TOO_LARGE)
        try:
            data = text.encode() if isinstance(text, str) else text
            decoded = data.decode()
        except UnicodeError:
            raise Refusal(Reason.CALL_MALFORMED, "the text of the call is not UTF-8") from None
        if len(data) > self._max_call_bytes:
            raise Refusal(Reason.CALL_TOO_LARGE)
        return chat_format.read(decoded)

    def _tool(self, call: Call, allowed: frozenset[str]) -> Tool:
        tool = self.manifest.get(call.name)
        if tool is None:
            raise Refusal(Reason.UNKNOWN_TOOL)
        if tool.name not in allowed:
            raise Refusal(Reason.TOOL_NOT_ALLOWED)
        if call.version != tool.version:
            raise Refusal(Reason.VERSION_MISMATCH)
        if call.schema_hash != tool.schema_hash:
            raise Refusal(Reason.SCHEMA_MISMATCH)
        return tool

    def _arguments(self, call: Call, tool: Tool) -> dict[str, Any]:
        arguments = call.arguments
        if fault := tool.checker.fault(arguments):
            raise Refusal(Reason.INVALID_ARGUMENTS, fault)
        return arguments

    def _authorise(self, pending: Envelope, tool: Tool) -> Authorisation:
        if tool.name in self._automatic:
            return "automatic"
        if self._confirm is None:
            raise Refusal(Reason.CONFIRMATION_MISSING)
        if _ask(self._confirm, pending, self._confirm_timeout) is not True:
            raise Refusal(Reason.NOT_CONFIRMED)
        return "confirmed"

    def _outcome(self, progress: _Progress, reason: Reason, result: Any, error: str) -> Outcome:
        tool, envelope = progress.tool, progress.envelope
        name = "" if tool is None else tool.name
        evidence: dict[str, Any] = {
            "request": "" if reason is Reason.UNKNOWN_REQUEST else progress.request,
            "tool": name,
            "version": "" if tool is None else tool.version,
            "schema": "" if tool is None else tool.schema_hash,
            "capability": "" if tool is None else tool.capability,
            "manifest": self.manifest.hash,
            "session": self.session,
            "authorisation": "none" if envelope is None else envelope.authorisation,
            "reason": reason.value,
            "code": reason.code,
            "result_bytes": progress.result_bytes,
            "tool_ms": progress.tool_ms,
        }
        return Outcome(progress.request, name, reason, result, error, envelope, evidence)


@dataclass(slots=True)
class _Progress:
    """How far a call came."""

    request: str
    tool: Tool | None = None
    envelope: Envelope | None = None
    result_bytes: int = 0
    tool_ms: float = 0.0


def _ask(confirm: Confirm, envelope: Envelope, seconds: float | None) -> Any:
    """The callback's answer; Refusal when it raised, or when none came in time."""
    if seconds is None:
        try:
            return confirm(envelope)
        except Exception as error:
            raise Refusal(Reason.CONFIRMATION_FAILED, f"{type(error).__name__} while asking") from None
    answers: list[Any] = []
    answered = threading.Event()

    def ask() -> None:
        try:
            answers.append(confirm(envelope))
        except BaseException as error:
            answers.append(error)
        answered.set()

    threading.Thread(target=ask, daemon=True).start()
    if not answered.wait(seconds):
        raise Refusal(Reason.CONFIRMATION_TIMEOUT)
    if isinstance(answers[0], BaseException):
        raise Refusal(Reason.CONFIRMATION_FAILED, f"{type(answers[0]).__name__} while asking")
    return answers[0]
