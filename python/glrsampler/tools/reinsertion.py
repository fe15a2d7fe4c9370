"""Results, documents and memories as a model is shown them: as data, with where they come from, bounded in length.

    <<<data: tool calculator>>>
    {"expression":"2+2","result":4}
    <<<end of data>>>

What stands between the markers holds neither the markers nor anything that looks like them: three or more angle
brackets in a line, of any script and with nothing but blanks and invisible characters between them, are cut down to
two. Names of special tokens are broken up as in all untrusted text (`glrsampler.untrusted`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from ..ranges import at_least
from ..untrusted import Untrusted
from .canonical import canonical

#: Where a text comes from.
Source = Literal["tool", "document", "memory"]

DEFAULT_MAX_TOKENS: Final = 512

# Characters that can pass for < and >, and those that take no room or only blank room between two of them.
_OPENING: Final = "<\uff1c\ufe64\u2039\u00ab\u3008\u300a\u27e8\u27ea\u2329\u276e\u1438\u02c2"
_CLOSING: Final = ">\uff1e\ufe65\u203a\u00bb\u3009\u300b\u27e9\u27eb\u232a\u276f\u1433\u02c3"
_INVISIBLE: Final = (
    r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]*+"
)


def _runs(characters: str) -> re.Pattern[str]:
    return re.compile(f"([{characters}]{_INVISIBLE}[{characters}])(?:{_INVISIBLE}[{characters}])+")


_RUNS: Final = (_runs(_OPENING), _runs(_CLOSING))
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Rendered:
    """Text for a prompt. It is as untrusted as what is in it: a prompt takes it as text."""

    text: str
    #: The text was longer than its budget.
    truncated: bool
    #: Places where it looked like a marker or a special token.
    neutralised: int


def render_result(
    content: Any,
    *,
    source: Source,
    name: str,
    untrusted: Untrusted,
    max_tokens: int = DEFAULT_MAX_TOKENS,
) -> Rendered:
    """Wraps a tool's result, a document or a memory between markers that name where it comes from.

    Args:
        content: text as it is, any other JSON value as its canonical text.
        name: of the tool or the document; what is no letter, digit, `_`, `.` or `-` becomes `_`.
        untrusted: of the model that reads it.
        max_tokens: of the content, markers aside. What is longer is cut, and the end marker says so.
    """
    if source not in get_args(Source):
        raise ValueError(f"source: one of {', '.join(get_args(Source))}, not {source!r}")
    at_least(1, "max_tokens", max_tokens)
    text = content if isinstance(content, str) else canonical(content).decode()
    text, found = _without_markers(text)
    text, named = untrusted.neutralise(text)
    text, truncated = untrusted.cut(text, max_tokens)
    label = _NOT_IN_NAMES.sub("_", name)[:64]
    end = "end of data, cut off" if truncated else "end of data"
    return Rendered(f"<<<data: {source} {label}>>>\n{text}\n<<<{end}>>>", truncated, found + named)


def _without_markers(text: str) -> tuple[str, int]:
    count = 0
    for runs in _RUNS:
        text, found = runs.subn(r"\1", text)
        count += found
    return text, count
