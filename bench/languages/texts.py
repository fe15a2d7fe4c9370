"""Real texts of languages, out of files that are installed: nothing is copied into the repository.

Files are those of Python's standard library, of the packages beside it, and of folders that the caller names (unpacked
source distributions, say), in the order of their paths. They are cut into units, such as a declaration, a statement
or a formula, since most grammars are of a subset: what of it a grammar takes is then more than the odd small file.
Where no real text would be in the language at all (a C with four types, a calculator), units are made from names and
shapes of real programs.
"""

from __future__ import annotations

import ast
import itertools
import json
import random
import re
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

SMALLEST, LARGEST = 24, 3000  # characters of a unit
LARGEST_FILE: Final = 2_000_000

#: How a text is cut to be damaged.
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")


def units(kind: str, folders: Iterable[Path]) -> Iterator[str]:
    """Units of a language, without end for those that are made; no unit comes twice."""
    seen: set[str] = set()
    found = MADE[kind]() if kind in MADE else _read(kind, folders)
    for unit in map(str.strip, found):
        if SMALLEST <= len(unit) <= LARGEST and unit not in seen:
            seen.add(unit)
            yield unit


def damaged(text: str, source: random.Random) -> str:
    """One word, mark or white space deleted, doubled, or swapped with the next one."""
    words = _WORD.findall(text)
    at = source.randrange(len(words))
    kind = source.randrange(3)
    if kind == 0:
        del words[at]
    elif kind == 1:
        words.insert(at, words[at])
    else:
        words[at : at + 2] = reversed(words[at : at + 2])
    return "".join(words)


def folders(further: Iterable[Path]) -> list[Path]:
    paths = sysconfig.get_paths()
    return [*further, Path(paths["purelib"]), Path(paths["stdlib"])]


def _read(kind: str, places: Iterable[Path]) -> Iterator[str]:
    for extension, cut in READ[kind].items():
        # Of a file at a time a few units: a budget is then spread over many files.
        files = [cut(text) for text in _files(places, extension)]
        while files:
            for units in list(files):
                taken = list(itertools.islice(units, 20))
                yield from taken
                if len(taken) < 20:
                    files.remove(units)


def _files(places: Iterable[Path], extension: str) -> Iterator[str]:
    seen: set[Path] = set()
    count = 0
    for place in places:
        for path in sorted(place.rglob(f"*.{extension}")):
            if path in seen or not path.is_file() or path.stat().st_size > LARGEST_FILE:
                continue
            seen.add(path)
            try:
                yield path.read_text(encoding="utf-8").replace("\r\n", "\n")
            except UnicodeDecodeError:
                continue
            count += 1
            if count == 1500:
                return


# --- how files are cut ---


def _whole(text: str) -> Iterator[str]:
    yield text


def _json(text: str) -> Iterator[str]:
    """The file, or, where it is large, its parts as they would be written alone."""
    if len(text) <= LARGEST:
        yield text
        return
    try:
        waiting = [json.loads(text)]
    except ValueError:
        return
    while waiting:
        value = waiting.pop()
        if not isinstance(value, dict | list):
            continue
        written = json.dumps(value, ensure_ascii=False, indent=2)
        if len(written) <= LARGEST:
            yield written
        else:
            waiting += reversed(list(value.values() if isinstance(value, dict) else value))


def _strings(pattern: str) -> Callable[[str], Iterator[str]]:
    """Strings of a Python program that begin like a text of the language."""
    begins = re.compile(pattern)

    def cut(text: str) -> Iterator[str]:
        for node in _nodes(text):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and begins.match(node.value):
                yield node.value.strip()

    return cut


def _nodes(text: str) -> Iterator[ast.AST]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return iter(())
    return ast.walk(tree)


def _statements(text: str) -> Iterator[str]:
    """Simple statements that follow each other in a block, at most eight, without their indentation."""
    lines = text.split("\n")
    for node in _nodes(text):
        body = getattr(node, "body", None)
        run: list[str] = []
        for statement in [*body, None] if isinstance(body, list) else ():
            if statement is not None and not hasattr(statement, "body") and not isinstance(statement, ast.Match):
                part = lines[statement.lineno - 1 : statement.end_lineno]
                run.append("\n".join([part[0].strip(), *part[1:]]))
            if run and (statement is None or hasattr(statement, "body") or len(run) == 8):
                yield "\n".join(run)
                run = []


def _sql_file(text: str) -> Iterator[str]:
    yield from (unit.strip() for unit in re.split(r";[ \t]*\n", text))


def _go(text: str) -> Iterator[str]:
    found = re.finditer(
        r"^(?:func|type|var|const)\b(?:[^\n]*[({]\n(?:[^)}\n][^\n]*\n|\n)*[)}][^\n]*|[^\n]*)", text, re.M
    )
    yield from (match[0] for match in found)


def _blocks(text: str) -> Iterator[str]:
    """What stands between empty lines."""
    yield from (unit.strip("\n") for unit in re.split(r"\n[ \t]*\n", text))


def _expressions(text: str) -> Iterator[str]:
    """What JavaScript assigns and returns, up to the semicolon."""
    for match in re.finditer(r"(?:\breturn|[\w\])] [-+|]?=)\s+", text):
        end = _closed(text, match.end())
        if end:
            yield text[match.end() : end].strip()


def _closed(text: str, at: int) -> int:
    """Where the semicolon stands that is in no bracket and no string; 0: there is none, or it is far."""
    depth, quote = 0, ""
    for index in range(at, min(len(text), at + LARGEST)):
        char = text[index]
        if quote:
            if char == quote and text[index - 1] != "\\":
                quote = ""
        elif char in "\"'`":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == ";" and depth == 0:
            return index
        if depth < 0:
            return 0
    return 0


def _formulas(text: str) -> Iterator[str]:
    """What documentation sets as mathematics: in roles and directives of reStructuredText, and between dollars."""
    for match in re.finditer(r":math:`([^`]+)`|\$([^$\n]{8,})\$|^( *)\.\. math::\n((?:\n|\3 +[^\n]*\n)+)", text, re.M):
        yield (match[1] or match[2] or match[4] or "").strip()


# --- texts that are made ---

_NAMES: Final = [
    "count",
    "total",
    "index",
    "buffer",
    "length",
    "node",
    "left",
    "right",
    "value",
    "result",
    "width",
    "height",
    "offset",
    "limit",
    "first",
    "last",
    "sum",
    "key",
    "item",
    "state",
    "line",
    "size",
    "depth",
    "row",
    "column",
    "price",
    "rate",
    "weight",
]
_CALLS: Final = [
    "print",
    "read",
    "write",
    "push",
    "pop",
    "find",
    "compare",
    "hash",
    "copy",
    "round_up",
    "next_power",
    "clear_all",
]


def _program() -> Iterator[str]:
    """Functions in the part of C that most subsets have: four types, declarations, calls, `if`, `while`, `return`."""
    source = random.Random(11)

    def expression(depth: int) -> str:
        kind = source.randrange(8 if depth else 3)
        if kind == 0:
            return str(source.choice([0, 1, 2, 7, 10, 100, 255, 4096]))
        if kind <= 2:
            return source.choice(_NAMES)
        if kind == 3:
            return f"({expression(depth - 1)})"
        if kind == 4:
            return call(depth - 1)
        if kind == 5:
            return f"-{source.choice(_NAMES)}"
        return f"{expression(depth - 1)} {source.choice('+-*/')} {expression(depth - 1)}"

    def call(depth: int) -> str:
        return f"{source.choice(_CALLS)}({', '.join(expression(depth) for _ in range(source.randrange(4)))})"

    def condition() -> str:
        return f"{expression(1)} {source.choice(['<', '<=', '==', '!=', '>', '>='])} {expression(1)}"

    def block(depth: int, indent: str) -> str:
        inner = indent + "    "
        return "{\n" + "".join(inner + statement(depth, inner) for _ in range(source.randint(1, 5))) + indent + "}"

    def statement(depth: int, indent: str) -> str:
        kind = source.randrange(8 if depth else 6)
        if kind <= 1:
            return f"{source.choice(['int', 'char'])} {source.choice(_NAMES)} = {expression(2)};\n"
        if kind <= 4:
            return f"{source.choice(_NAMES)} = {expression(2)};\n"
        if kind == 5:
            return call(2) + ";\n"
        if kind == 6:
            return f"while ({condition()}) {block(depth - 1, indent)}\n"
        other = f" else {block(depth - 1, indent)}" if source.randrange(2) else ""
        return f"if ({condition()}) {block(depth - 1, indent)}{other}\n"

    while True:
        parameters = ", ".join(f"int {name}" for name in source.sample(_NAMES, source.randrange(4)))
        kind, name = source.choice(["int", "char", "void"]), source.choice(_CALLS)
        yield f"{kind} {name}_{source.randrange(100)}({parameters}) {block(2, '')}\n"


def _sums() -> Iterator[str]:
    """Arithmetic as it is typed: sums of products, brackets, decimals."""
    source = random.Random(12)

    def expression(depth: int) -> str:
        if not depth or source.random() < 0.2:
            return source.choice(["{}", "{}.5", "{}.25"]).format(source.randrange(1000))
        inner = f"{expression(depth - 1)}{source.choice([' + ', ' - ', ' * ', ' / ', '*', '+'])}{expression(depth - 1)}"
        return f"({inner})" if source.random() < 0.4 else inner

    while True:
        yield expression(source.randint(3, 6))


#: Language -> extension -> how such a file is cut.
READ: Final[dict[str, dict[str, Callable[[str], Iterator[str]]]]] = {
    "json": {"json": _json},
    "sql": {"sql": _sql_file, "py": _strings(r"(?i)\s*(select|insert|update|delete|create|with|drop)\s+\w+")},
    "go": {"go": _go},
    "java": {"java": _whole},
    "graphql": {
        "py": _strings(r"\s*(query|mutation|subscription|fragment)\b[^.]*\{|\s*\{\s*\w+[\s({]"),
        "graphql": _whole,
    },
    "shell": {"sh": _blocks, "bash": _blocks},
    "latex": {"tex": _formulas, "rst": _formulas, "py": _formulas},
    "python": {"py": _statements},
    "javascript": {"js": _expressions},
    "lark": {"lark": _whole},
}
MADE: Final[dict[str, Callable[[], Iterator[str]]]] = {"c": _program, "sums": _sums}
