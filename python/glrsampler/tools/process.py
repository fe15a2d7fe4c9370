"""Running a tool: in a process of its own under a time limit, or here where it is bounded by itself.

What comes back is JSON text or an error, both of bounded size. Nothing of the child is unpickled.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from ..reasons import Reason
from .canonical import canonical
from .declaration import Tool
from .refusal import Refusal

#: Seconds for a process to start and to import the tool's module; not part of the tool's own time.
START_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 1.0  # to read a message that began in time
_MAX_MESSAGE: Final = 300  # characters of an exception's text
_READY, _RESULT, _ERROR = b"R", b"O", b"E"
# What run_here says no with.
_REASONS: Final = (Reason.TOOL_FAILED, Reason.RESULT_INVALID, Reason.RESULT_TOO_LARGE)


def run_here(tool: Tool, arguments: dict[str, Any]) -> bytes:
    """The canonical JSON text of the tool's result; Refusal when there is none."""
    try:
        value = tool.run(arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Refusal(Reason.TOOL_FAILED, _described(error)) from None
    try:
        data = canonical(value)
    except ValueError:
        raise Refusal(Reason.RESULT_INVALID) from None
    if len(data) > tool.max_bytes:
        raise Refusal(Reason.RESULT_TOO_LARGE, f"the result has {len(data)} bytes, {tool.max_bytes} are allowed")
    return data


def _described(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__  # its text is an error too
    return text[:_MAX_MESSAGE].encode("utf-8", "replace").decode()


def run_isolated(tool: Tool, arguments: dict[str, Any]) -> bytes:
    """The same in a new process, which is ended, with all that it started, after the tool's timeout."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_serve, args=(theirs, tool, json.dumps(arguments)), daemon=True)
    with ours:
        try:
            with theirs:
                _start(child)
            if _receive(ours, child, START_SECONDS, 1) != _READY:
                raise Refusal(Reason.TOOL_CRASHED, "the tool's process did not start")
            answer = _receive(ours, child, tool.timeout, 1 + max(tool.max_bytes, 8 * _MAX_MESSAGE))
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


def _receive(connection: Connection, child: BaseProcess, seconds: float, limit: int) -> bytes | None:
    """One message; None when none came in time, b"" when the other side has gone or sent too much."""
    deadline = time.monotonic() + seconds
    # A child can stop in the middle of a message as well; what is missing then never comes.
    watch = threading.Timer(seconds + _GRACE_SECONDS, _kill, (child,))
    watch.daemon = True
    watch.start()
    try:
        return connection.recv_bytes(limit) if connection.poll(seconds) else None
    except (EOFError, OSError):
        return b"" if time.monotonic() < deadline else None
    finally:
        watch.cancel()


def _end(child: BaseProcess) -> None:
    if child.pid is None:
        return
    _kill(child)
    child.join()
    child.close()


def _kill(child: BaseProcess) -> None:
    if child.pid is None:
        return
    # The child leads a group of its own from its first line on; before that it has started nothing.
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()


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
