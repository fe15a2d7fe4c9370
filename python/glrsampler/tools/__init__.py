"""Tool calls that can be trusted: declared and hashed tools, constrained calls, a broker, results as data.

docs/tools.md shows how to use them, docs/security.md what is promised and against whom.
"""

from __future__ import annotations

from ..untrusted import Untrusted
from .broker import Broker, Confirm, Outcome
from .calculator import calculator
from .canonical import canonical, digest
from .chat_formats import FORMATS, ChatFormat
from .declaration import Tool, tool
from .envelope import Call, Envelope
from .manifest import Manifest
from .reinsertion import Rendered, render_result
from .session import Reply, Session, SessionEvent

#: Tools that come with the library, by their names.
BUILT_IN = {calculator.name: calculator}

__all__ = [
    "BUILT_IN",
    "FORMATS",
    "Broker",
    "Call",
    "ChatFormat",
    "Confirm",
    "Envelope",
    "Manifest",
    "Outcome",
    "Rendered",
    "Reply",
    "Session",
    "SessionEvent",
    "Tool",
    "Untrusted",
    "calculator",
    "canonical",
    "digest",
    "render_result",
    "tool",
]
