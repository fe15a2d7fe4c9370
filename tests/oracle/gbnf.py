"""A GBNF reader that shares nothing with the product's: text -> a dictionary of rules.

It is recursive and slow on purpose. It reads the dialect of the documentation: llama.cpp's, plus
names with an underscore, a line that starts with `|`, and the quantifier `{,n}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

MAX_CODE_POINT = 0x10FFFF
MAX_BOUND = 2**32 - 2
MAX_TOKEN_ID = 2**31 - 1
SURROGATES = range(0xD800, 0xE000)


class GbnfError(ValueError):
    """A text is not a grammar; `line` and `column` count from 1."""

    def __init__(self, text: str, offset: int, message: str) -> None:
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        super().__init__(f"{self.line}:{self.column}: {message}")


# Nodes compare by identity: two places in a grammar are two nodes.
@dataclass(eq=False, frozen=True)
class Literal:
    data: bytes


@dataclass(eq=False, frozen=True)
class Class:
    """One code point out of inclusive ranges; ranges may hold surrogates, which no text has."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(eq=False, frozen=True)
class Ref:
    name: str


@dataclass(eq=False, frozen=True)
class Seq:
    items: tuple[Node, ...]


@dataclass(eq=False, frozen=True)
class Alt:
    options: tuple[Node, ...]


@dataclass(eq=False, frozen=True)
class Repeat:
    item: Node
    low: int
    high: int | None


@dataclass(eq=False, frozen=True)
class Token:
    """One whole model token, by `text` (with its angle brackets) or by `id`; negated: any other text token."""

    text: str | None
    id: int | None
    negated: bool


# A node that only grammars with a lexer have (`longest_match`).
@dataclass(eq=False, frozen=True)
class Terminal:
    """One lexeme; `item` has no terminals and refers to no rules."""

    item: Node


# Two nodes that no text has: classes, literals and tokens are lowered to them by the recogniser.
@dataclass(eq=False, frozen=True)
class Bytes:
    """One byte of a set."""

    members: frozenset[int]


@dataclass(eq=False, frozen=True)
class Ids:
    """One whole token of a set."""

    members: frozenset[int]


Node = Literal | Class | Ref | Seq | Alt | Repeat | Token | Terminal | Bytes | Ids


def complement(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    out, next_free = [], 0
    for low, high in sorted(ranges):
        if low > next_free:
            out.append((next_free, low - 1))
        next_free = max(next_free, high + 1)
    if next_free <= MAX_CODE_POINT:
        out.append((next_free, MAX_CODE_POINT))
    return tuple(out)


def parse(text: str, root: str = "root") -> dict[str, Node]:
    """The rules of a grammar, in order. Raises GbnfError."""
    return _Parser(text.removeprefix("\ufeff"), root).grammar()


class _Parser:
    NAME = re.compile(r"[A-Za-z0-9_-]+")
    BLANK = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
    BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
    SPACE = r"(?:[ \t\r\n]|#[^\r\n]*)*"
    QUANTIFIER = re.compile(rf"\{{{SPACE}([0-9]*){SPACE}(,?){SPACE}([0-9]*){SPACE}\}}")
    TOKEN = re.compile(r"(!?)<(?:\[([0-9]+)\]|((?!\[)[^>\r\n]*))>")
    SIMPLE_ESCAPES: ClassVar = {"t": 9, "r": 13, "n": 10, "\\": 92, '"': 34, "[": 91, "]": 93, "-": 45}
    HEX_ESCAPES: ClassVar = {"x": 2, "u": 4, "U": 8}

    def __init__(self, text: str, root: str) -> None:
        self.text, self.root, self.pos = text, root, 0
        self.refs: list[tuple[str, int]] = []

    def error(self, message: str, offset: int | None = None) -> GbnfError:
        return GbnfError(self.text, self.pos if offset is None else offset, message)

    def peek(self) -> str:
        return self.text[self.pos : self.pos + 1]

    def skip(self, lines: bool) -> None:
        match = (self.BLANK_LINES if lines else self.BLANK).match(self.text, self.pos)
        assert match
        self.pos = match.end()

    def name(self) -> str | None:
        match = self.NAME.match(self.text, self.pos)
        if match:
            self.pos = match.end()
        return match and match.group()

    def grammar(self) -> dict[str, Node]:
        rules: dict[str, Node] = {}
        if "\0" in self.text:
            raise self.error("a NUL character", self.text.index("\0"))
        self.skip(lines=True)
        while self.pos < len(self.text):
            start = self.pos
            name = self.name()
            if name is None:
                raise self.error("expected the name of a rule")
            if name in rules:
                raise self.error(f"rule {name} is defined twice", start)
            self.skip(lines=False)
            if not self.text.startswith("::=", self.pos):
                raise self.error("expected ::=")
            self.pos += 3
            self.skip(lines=True)
            rules[name] = self.alternatives(nested=False)
            if self.pos < len(self.text) and self.peek() not in "\r\n":
                raise self.error("expected the end of the line")
            self.skip(lines=True)
        for name, offset in self.refs:
            if name not in rules:
                raise self.error(f"undefined rule {name}", offset)
        if self.root not in rules:
            raise self.error(f"no rule {self.root}", 0)
        return rules

    def alternatives(self, nested: bool) -> Node:
        options = [self.sequence(nested)]
        while self.bar(nested):
            self.pos += 1
            self.skip(lines=True)
            options.append(self.sequence(nested))
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def bar(self, nested: bool) -> bool:
        """At a `|`, also one that starts the next line."""
        before = self.pos
        self.skip(lines=True)
        if self.peek() == "|":
            return True
        if not nested:
            self.pos = before
        return False

    def sequence(self, nested: bool) -> Node:
        items: list[Node] = []
        while (item := self.item(items)) is not None:
            items.append(item)
            self.skip(lines=nested)
        return items[0] if len(items) == 1 else Seq(tuple(items))

    def item(self, before: list[Node]) -> Node | None:
        """The next item of a sequence; a quantifier takes the item before it out of the sequence."""
        start, char = self.pos, self.peek()
        if char == '"':
            self.pos += 1
            return Literal("".join(map(chr, self.characters('"'))).encode())
        if char == "[":
            self.pos += 1
            return self.char_class(start)
        if char == ".":
            self.pos += 1
            return Class(((0, MAX_CODE_POINT),))
        if char == "(":
            self.pos += 1
            self.skip(lines=True)
            group = self.alternatives(nested=True)
            if self.peek() != ")":
                raise self.error("expected )")
            self.pos += 1
            return group
        if char in ("<", "!"):
            return self.token()
        if char != "" and char in "*+?{":
            if not before:
                raise self.error("nothing to repeat")
            low, high = self.quantifier()
            return Repeat(before.pop(), low, high)
        name = self.name()
        if name is None:
            return None
        self.refs.append((name, start))
        return Ref(name)

    def quantifier(self) -> tuple[int, int | None]:
        char = self.peek()
        if char != "{":
            self.pos += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        match = self.QUANTIFIER.match(self.text, self.pos)
        if not match or not (match[1] or match[3]) or (match[3] and not match[2]):
            raise self.error("not a quantifier")
        low = int(match[1] or 0)
        high = (int(match[3]) if match[3] else None) if match[2] else low
        if max(low, high or 0) > MAX_BOUND:
            raise self.error("bound too large")
        if high is not None and high < low:
            raise self.error("bounds the wrong way round")
        self.pos = match.end()
        return low, high

    def token(self) -> Token:
        match = self.TOKEN.match(self.text, self.pos)
        if not match:
            raise self.error("not a token literal")
        self.pos = match.end()
        if match[2]:
            if int(match[2]) > MAX_TOKEN_ID:
                raise self.error("token id too large")
            return Token(None, int(match[2]), bool(match[1]))
        return Token(f"<{match[3]}>", None, bool(match[1]))

    def character(self) -> int:
        """One code point, escaped or not."""
        start, char = self.pos, self.peek()
        self.pos += 1
        if char != "\\":
            return ord(char)
        kind = self.peek()
        self.pos += 1
        if kind in self.HEX_ESCAPES:
            digits = self.text[self.pos : self.pos + self.HEX_ESCAPES[kind]]
            self.pos += len(digits)
            if not re.fullmatch(rf"[0-9a-fA-F]{{{self.HEX_ESCAPES[kind]}}}", digits):
                raise self.error("not enough hexadecimal digits", start)
            value = int(digits, 16)
            if value > MAX_CODE_POINT or value in SURROGATES:
                raise self.error("not a code point", start)
            return value
        if kind not in self.SIMPLE_ESCAPES:
            raise self.error("unknown escape", start)
        return self.SIMPLE_ESCAPES[kind]

    def characters(self, end: str) -> Iterator[int]:
        start = self.pos - 1
        while self.peek() != end:
            if self.pos >= len(self.text):
                raise self.error("never closed", start)
            yield self.character()
        self.pos += 1

    def char_class(self, start: int) -> Node:
        negated = self.peek() == "^"
        self.pos += negated
        ranges: list[tuple[int, int]] = []
        while self.peek() != "]":
            if self.pos >= len(self.text):
                raise self.error("never closed", start)
            low = high = self.character()
            if self.peek() == "-" and self.text[self.pos + 1 : self.pos + 2] not in ("]", ""):
                self.pos += 1
                high = self.character()
            if high < low:
                raise self.error("range the wrong way round")
            ranges.append((low, high))
        self.pos += 1
        if not ranges:
            raise self.error("empty class", start)
        found = complement(tuple(ranges)) if negated else tuple(ranges)
        if all(low in SURROGATES and high in SURROGATES for low, high in found):
            raise self.error("a class without a code point", start)
        return Class(found)
