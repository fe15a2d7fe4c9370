"""A broker over the tools of tests/declared_tools.py, and the text of a right call of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import declared_tools
import pytest
from glrsampler.tools import Broker, Envelope, Manifest, Tool

TOOLS = [declared_tools.lookup, declared_tools.search, declared_tools.transfer, declared_tools.misbehave]
AUTOMATIC = ["lookup", "misbehave"]

BrokerFactory = Callable[..., Broker]


@pytest.fixture
def ran() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """What the tools were run with, in this process."""
    declared_tools.RAN.clear()
    yield declared_tools.RAN
    declared_tools.RAN.clear()


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return Manifest(TOOLS)


@pytest.fixture
def broker(manifest: Manifest) -> BrokerFactory:
    def make(confirm: Callable[[Envelope], Any] | None = None, **options: Any) -> Broker:
        return Broker(manifest, **{"automatic": AUTOMATIC, "confirm": confirm, "session": "s", **options})

    return make


def call_of(tool: Tool, arguments: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The fields of a call; those that are None are left out."""
    call = {"name": tool.name, "arguments": arguments, "version": tool.version, "schema": tool.schema_hash, **changes}
    return {key: value for key, value in call.items() if value is not None}


def text_of(tool: Tool, arguments: dict[str, Any], **changes: Any) -> str:
    return json.dumps(call_of(tool, arguments, **changes))
