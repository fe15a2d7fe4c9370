"""Writes the Unicode tables of cpp/grammar/unicode.cpp as C++: the build calls it.

The data is that of the interpreter's own ``unicodedata``; scripts, which that module does not know, come from
the package fontTools when the interpreter has it.

    python unicode_tables.py OUT
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def ranges(member: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The code points with a property, as sorted inclusive ranges."""
    found: list[tuple[int, int]] = []
    for c in CODE_POINTS:
        if not member(chr(c)):
            continue
        if found and found[-1][1] == c - 1:
            found[-1] = (found[-1][0], c)
        else:
            found.append((c, c))
    return found


def categories() -> Iterator[tuple[int, int, str]]:
    """Runs of one general category; unassigned code points are left out."""
    first, last, run = 0, -1, ""
    for c in CODE_POINTS:
        category = unicodedata.category(chr(c))
        if category == run and c == last + 1:
            last = c
            continue
        if run not in ("", "Cn"):
            yield first, last, run
        first, last, run = c, c, category
    if run != "Cn":
        yield first, last, run


def simple_fold(c: str) -> str:
    """Simple case folding (CaseFolding.txt, C and S): the one of full folding where that is one code point."""
    for folded in (c.casefold(), c.lower()):
        if len(folded) == 1:
            return folded
    return c


def scripts() -> list[tuple[str, list[tuple[int, int]]]]:
    try:
        from fontTools.unicodedata import Scripts
    except ImportError:
        return []
    found: dict[str, list[tuple[int, int]]] = {}
    ends = [*Scripts.RANGES[1:], 0x110000]
    for i, code in enumerate(Scripts.VALUES):
        found.setdefault(code, []).append((Scripts.RANGES[i], ends[i] - 1))
    return [(name, found[code]) for code, name in sorted(Scripts.NAMES.items()) if code in found]


def table(name: str, kind: str, rows: list[str]) -> str:
    return f"constexpr {kind} {name}[] = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def pairs(found: list[tuple[int, int]]) -> list[str]:
    return [f"{{{first:#x}, {last:#x}}}" for first, last in found]


def main() -> None:
    properties = {
        "Lowercase": ranges(str.islower),
        "Uppercase": ranges(str.isupper),
        "XID_Start": ranges(lambda c: c != "_" and c.isidentifier()),
        "XID_Continue": ranges(lambda c: ("a" + c).isidentifier()),
    }
    properties |= {f"Script={name}": found for name, found in scripts()}
    folds = [(c, ord(simple_fold(chr(c)))) for c in CODE_POINTS if simple_fold(chr(c)) != chr(c)]
    named = [f'{{"{name}", {a:#x}, {b:#x}}}' for name, found in properties.items() for a, b in found]
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("// Written by unicode_tables.py.\n")
        out.write(f'constexpr std::string_view kUnicodeVersion = "{unicodedata.unidata_version}";\n')
        out.write(table("kCategories", "PropertyRange", [f'{{"{c}", {a:#x}, {b:#x}}}' for a, b, c in categories()]))
        out.write(table("kFolds", "Fold", pairs(folds)))
        out.write(table("kProperties", "PropertyRange", named))


if __name__ == "__main__":
    main()
