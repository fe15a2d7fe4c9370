"""Tools for the tests, and the texts of their calls.

A module on the path, so that a process of its own can find them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Annotated, Any, Literal

from glrsampler.tools import Tool, tool

#: What ran in this process, in order.
RAN: list[tuple[str, dict[str, Any]]] = []


def ran(name: str, **arguments: Any) -> None:
    RAN.append((name, arguments))


@tool(version="2", capability="read", isolated=False, max_bytes=200)
def lookup(city: Annotated[str, {"maxLength": 20, "pattern": "^[A-Za-z ]+$"}], days: int = 1) -> dict[str, Any]:
    """Looks up the weather of a city."""
    ran("lookup", city=city, days=days)
    return {"city": city, "days": days}


@tool(version="1", capability="read", isolated=False)
def search(query: str, kind: Literal["book", "song"] = "book") -> list[str]:
    """Searches. Not automatic in the tests, though it only reads."""
    ran("search", query=query, kind=kind)
    return [query, kind]


@tool(version="1", capability="write", isolated=False)
def transfer(account: Annotated[str, {"maxLength": 40}], amount: Annotated[int, {"minimum": 1, "maximum": 100}]) -> str:
    """Sends money."""
    ran("transfer", account=account, amount=amount)
    return f"sent {amount}"


class Stranger(BaseException):
    """No Exception, and no text."""

    def __str__(self) -> str:
        raise RuntimeError


@tool(version="1", capability="read", isolated=False, max_bytes=100)
def misbehave(how: str) -> Any:
    """Fails in the way that is asked for."""
    ran("misbehave", how=how)
    if how == "raise":
        raise ValueError("no such thing")
    if how == "exit":
        sys.exit(3)
    if how == "stranger":
        raise Stranger
    if how == "recurse":
        return misbehave(how)
    return {
        "large": "x" * 99,
        "largest fit": "x" * 98,
        "nan": float("nan"),
        "infinity": [float("inf")],
        "set": {1, 2},
        "bytes": b"x",
        "integer": 2**60,
        "key": {1: 2},
        "surrogate": "\ud800",
        "object": object(),
        "double": 62741583966217632.0,
        "deep": deep(100_000),
    }[how]


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@tool(version="1", capability="read", timeout=1.0, max_bytes=100)
def apart(how: str) -> Any:
    """Runs in a process of its own."""
    if how == "hang":
        time.sleep(3600)
    if how == "spin":
        while True:
            pass
    if how == "child":
        # What it leaves behind must not outlive it.
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"]).pid
    if how == "hang with child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        print("child", child.pid, flush=True)
        time.sleep(3600)
    if how == "exit":
        os._exit(3)
    if how == "abort":
        os.abort()
    if how == "raise":
        raise ValueError("no such thing")
    if how == "large":
        return "x" * 1_000_000
    if how == "half a message":
        for descriptor in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(descriptor, b"\0\0\0\x20half")
        time.sleep(3600)
    if how == "print":
        print("printed by the tool")
    return {"pid": os.getpid(), "how": how}


def text_of(declared: Tool, arguments: Any, **changes: Any) -> str:
    """The text of a right call, apart from the changes; a field that is None is left out."""
    call = {
        "name": declared.name,
        "arguments": arguments,
        "version": declared.version,
        "schema": declared.schema_hash,
        **changes,
    }
    return json.dumps({key: value for key, value in call.items() if value is not None})
