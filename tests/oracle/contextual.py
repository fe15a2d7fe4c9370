"""A lexer of the rule that `lexing="contextual"` states, driven by the parse table that Lark computes.

Of the terminals that the parser could take in its state, and those that are ignored, the longest match wins; of equal
ones the higher priority, then a text over a pattern, then the one written longer, then the first by name. Lark's own
lexer tries terminals in an order of its own (priority, then how wide they could be) and takes the first that matches,
which mostly comes to the same; where both agree a verdict is Lark's word as well as ours.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from lark import Lark
from lark.lexer import PatternStr, TerminalDef


def accepts(parser: Lark, text: str) -> bool:
    """Whether a text is a sentence. `parser`: made with parser="lalr"; its table is used, its lexer is not."""
    table = parser.parser.parser._parse_table
    ignored = set(parser.ignore_tokens)
    start, end = table.start_states["start"], table.end_states["start"]
    stack: list[int] = [start]
    at = 0
    while at < len(text):
        usable = [t for t in parser.terminals if t.name in ignored or t.name in table.states[stack[-1]]]
        found = max((_ranked(t, text, at) for t in usable), default=None)
        if found is None or found[0] == 0:
            return False
        size, name = found[0], found[-1].name
        at += size
        # A terminal that is ignored is so everywhere, as in Lark.
        if name not in ignored and not _shift(table, stack, name):
            return False
    return _shift(table, stack, "$END") and stack[-1] == end


@functools.total_ordering
class _ByName:
    """The first by name is the greatest."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByName) and self.name == other.name

    def __lt__(self, other: _ByName) -> bool:
        return self.name > other.name


def _ranked(terminal: TerminalDef, text: str, at: int) -> tuple[int, int, bool, int, _ByName]:
    """Length of the longest match, 0 without one; then what decides between equal ones."""
    pattern = re.compile(terminal.pattern.to_regexp())
    longest = next((end for end in range(len(text), at, -1) if pattern.fullmatch(text, at, end)), at)
    is_text = isinstance(terminal.pattern, PatternStr)
    return longest - at, terminal.priority, is_text, len(terminal.pattern.value), _ByName(terminal.name)


def _shift(table: Any, stack: list[int], name: str) -> bool:
    """Reduces until the terminal is shifted; False: it cannot be."""
    while True:
        found = table.states[stack[-1]].get(name)
        if found is None:
            return False
        action, argument = found
        if action.name == "Shift":
            stack.append(argument)
            return True
        size = len(argument.expansion)
        if size:
            del stack[-size:]
        _, state = table.states[stack[-1]][argument.origin.name]
        stack.append(state)
        if name == "$END" and state == table.end_states["start"]:
            return True
