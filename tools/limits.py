"""Writes docs/limits.md from the table of keywords that the JSON Schema reader uses.

python tools/limits.py          writes the file
python tools/limits.py --check  says whether it is up to date
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "cpp" / "grammar" / "json_schema" / "limits"
PAGE = ROOT / "docs" / "limits.md"

SUPPORT = {"Exact": "enforced", "Partly": "enforced in part", "Annotation": "no effect", "Refused": "refused"}

HEAD = """\
# What of JSON Schema is enforced

Written by `tools/limits.py` from `cpp/grammar/json_schema/limits.cpp`: change that file, not this one.

*Enforced*: nothing more and nothing less is admitted. *Enforced in part*: exactly, where the note says so, and refused
elsewhere. *Refused*: a `SchemaError` with the JSON pointer of the keyword; with `on_unsupported="warn"` it is left out
instead, and `grammar.warnings` says so. *No effect*: an annotation. Keywords that no draft defines have no effect.
"""

BUDGETS = """
## Budgets of a compile

`glr.Limits`, for grammars of every kind. Over one of them is a `BudgetError` that names it.

| Budget | |
|---|---|
| `max_states`, `max_transitions` | of an eager compile; a background thread stops at them |
| `max_bytes` | of an eager compile, and of what the constraints of a vocabulary share ([design.md](design.md)) |
| `max_compile_seconds` | of any compile, in every stage of it, to within some milliseconds |
| `max_nesting` | brackets open at once: a token that would open one too many is not in the mask; 0: no bound |

`max_nesting` makes one copy a level of the recursive rules, so states, frames and bytes grow with it, by the same for
each level: on a vocabulary of 128,256 tokens JSON has 8 states and 0.1 MB a level, a C subset 62 states and 0.6 MB,
when all is filled; what is lazy has only the levels that texts come to. A token that closes several brackets is looked
at below each, so an eager compile fills levels times brackets. The copies together may have `max_states` terms, and
1,048,576 at most: more is refused before anything is copied.
"""


def unquoted(literal: str) -> str:
    return literal.replace('\\"', '"').replace("\\\\", "\\")


def page() -> str:
    table = SOURCE.with_suffix(".cpp").read_text(encoding="utf-8")
    string = r'"((?:[^"\\]|\\.)*)"'
    keywords = re.findall(rf"\{{{string},\s*Support::(\w+),\s*{string}\}}", table)
    between = r'(?:[^{}"]|"(?:[^"\\]|\\.)*")*?'
    formats = re.findall(rf"\{{{string},{between},\s*{string}\}}", table[table.index("kFormats[]") :])
    limits = re.findall(
        r"inline constexpr \S+ (k\w+) = ([\d']+);\s*// (.*)", SOURCE.with_suffix(".hpp").read_text(encoding="utf-8")
    )
    rows = [f"| `{name}` | {SUPPORT[support]} | {unquoted(note)} |" for name, support, note in keywords]
    lines = [HEAD, "## Keywords", "", "| Keyword | | |", "|---|---|---|", *rows, ""]
    lines += [
        "## Formats",
        "",
        "Of strings; `int32` and `int64` bound numbers. Any other name has no effect, and a warning says so.",
        "",
    ]
    lines += ["| Format | |", "|---|---|", *(f"| `{name}` | {unquoted(note)} |" for name, note in formats), ""]
    lines += ["## Bounds", "", "A schema beyond one of them is refused.", "", "| At most | |", "|---|---|"]
    lines += [f"| {int(value.replace(chr(39), '')):,} | {note} |" for _, value, note in limits]
    return "\n".join(lines) + "\n" + BUDGETS


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        return PAGE.read_text(encoding="utf-8") != page()
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
