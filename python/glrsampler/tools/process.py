"""Running a tool: in a process of its own under a time limit, or here where it is bounded by itself.

What comes back is JSON text or an error, both of bounded size. Nothing of the child is unpickled.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from ..reasons import Reason
from .canonical import canonical
from .declaration import Tool
from .refusal import Refusal

#: Seconds for a process to start and to import the tool's module; not part of the tool's own time.
START_SECONDS: Final = 60.0
_MAX_MESSAGE: Final = 300  # characters of an exception's text
_READY, _RESULT, _ERROR = b"R", b"O", b"E"
# What run_here says no with.
_REASONS: Final = (Reason.TOOL_FAILED, Reason.RESULT_INVALID, Reason.RESULT_TOO_LARGE)


def run_here(tool: Tool, arguments: dict[str, Any]) -> bytes:
    """The canonical JSON text of the tool's result; Refusal when there is none."""
    try:
        value = tool.run(arguments)
    except (Exception, SystemExit) as error:
        text = f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()
        raise Refusal(Reason.TOOL_FAILED, text[:_MAX_MESSAGE]) from None
    try:
        data = canonical(value)
    except ValueError:
        raise Refusal(Reason.RESULT_INVALID) from None
    if len(data) > tool.max_bytes:
        raise Refusal(Reason.RESULT_TOO_LARGE, f"the result has {len(data)} bytes, {tool.max_bytes} are allowed")
    return data


def run_isolated(tool: Tool, arguments: dict[str, Any]) -> bytes:
    """The same in a new process, which is ended, with all that it started, after the tool's timeout."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_serve, args=(theirs, tool, json.dumps(arguments)), daemon=True)
    with ours:
        try:
            with theirs:
                _start(child)
            if _receive(ours, START_SECONDS, 1) != _READY:
                raise Refusal(Reason.TOOL_CRASHED, "the tool's process did not start")
            answer = _receive(ours, tool.timeout, 1 + max(tool.max_bytes, 8 * _MAX_MESSAGE))
        finally:
            _end(child)
    if answer is None:
        raise Refusal(Reason.TOOL_TIMEOUT, f"the tool took longer than {tool.timeout:g} seconds")
    if answer[:1] == _RESULT:
        return answer[1:]
    if answer[:1] != _ERROR:
        raise Refusal(Reason.TOOL_CRASHED)
    name, _, message = answer[1:].decode("utf-8", "replace").partition("\n")
    raise Refusal(next((reason for reason in _REASONS if reason == name), Reason.TOOL_CRASHED), message)


def _start(child: BaseProcess) -> None:
    try:
        child.start()
    except OSError as error:
        raise Refusal(Reason.TOOL_CRASHED, f"the tool's process did not start: {error.strerror}") from None


def _receive(connection: Connection, seconds: float, limit: int) -> bytes | None:
    """One message; None when none came in time, b"" when the other side has gone or sent too much."""
    try:
        if not connection.poll(seconds):
            return None
        return connection.recv_bytes(limit)
    except (EOFError, OSError):
        return b""


def _end(child: BaseProcess) -> None:
    if child.pid is None:
        return
    # The child leads a group of its own from its first line on; before that it has started nothing.
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.join()
    child.close()


def _serve(connection: Connection, tool: Tool, arguments: str) -> None:
    """The child's whole life."""
    if hasattr(os, "setsid"):
        os.setsid()
    # Standard output is the conversation's; what a tool prints goes to standard error.
    os.dup2(2, 1)
    connection.send_bytes(_READY)
    try:
        answer = _RESULT + run_here(tool, json.loads(arguments))
    except Refusal as refusal:
        answer = _ERROR + f"{refusal.reason.value}\n{refusal}".encode("utf-8", "replace")
    connection.send_bytes(answer)
    connection.close()
