"""A broker over the tools of tests/declared_tools.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import declared_tools
import pytest
from glrsampler.tools import Broker, Envelope, Manifest

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
