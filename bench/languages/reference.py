"""Lark's Earley parser as the judge of what is a sentence, in a process that can be given up.

Its default lexer (`dynamic`) takes the longest match of each terminal, which is what our default reading does; but
Python's `re` has the first alternative of a pattern that matches for the longest. The package `regex` can look for the
longest, and does so here, except in grammars with reluctant quantifiers, which are meant to stop early.
"""

from __future__ import annotations

import multiprocessing
import re
from multiprocessing.pool import Pool
from typing import Any, Final

SECONDS: Final = 10.0  # for one text

_parser: Any = None


class Reference:
    def __init__(self, grammar: str, folder: str, known: dict[str, bool | None]) -> None:
        """`known`: verdicts of an earlier run on the same grammar; new ones are added."""
        self._arguments = (grammar, folder)
        self._pool: Pool | None = None
        self._known = known

    def verdict(self, text: str) -> bool | None:
        """None: Lark had no answer in time, or found a fault of its own."""
        if text not in self._known:
            self._known[text] = self._asked(text)
        return self._known[text]

    def _asked(self, text: str) -> bool | None:
        if self._pool is None:
            self._pool = multiprocessing.get_context("spawn").Pool(1, _start, self._arguments)
        try:
            return self._pool.apply_async(_accepts, (text,)).get(SECONDS)
        except multiprocessing.TimeoutError:
            self.close()
            return None
        except RuntimeError:  # "Earley should not generate multiple start symbol items!"
            return None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()
            self._pool = None


def _start(grammar: str, folder: str) -> None:
    global _parser
    import regex
    from lark import Lark

    def made(flags: int) -> Lark:
        return Lark(
            grammar,
            parser="earley",
            lexer="dynamic",
            ambiguity="forest",  # is made anyway; no tree is built of it
            import_paths=[folder],
            regex=True,
            g_regex_flags=flags,
        )

    _parser = made(regex.POSIX)
    if any(_reluctant(terminal.pattern.to_regexp()) for terminal in _parser.terminals):
        _parser = made(0)


def _reluctant(pattern: str) -> bool:
    """Whether there is `*?`, `+?`, `??` or `}?` outside classes."""
    return re.search(r"[*+?}]\?", re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern, flags=re.DOTALL)) is not None


def _accepts(text: str) -> bool:
    from lark.exceptions import LarkError

    try:
        _parser.parse(text)
    except LarkError:
        return False
    return True
