"""Cases: a grammar, in every format that contenders read, with texts that are its sentences.

`data/NAME/` holds `grammar.gbnf`, its twin `grammar.lark`, or `schema.json`, and `text*` files. Long texts of the
ambiguous grammars are made here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Case:
    name: str
    grammars: dict[str, str]  # format -> text
    texts: Sequence[bytes]


def load(length: int) -> list[Case]:
    """All cases of data/. `length`: bytes of the texts made for ambiguous grammars."""
    made = generated(length)
    cases = []
    for folder in sorted(path for path in DATA.iterdir() if path.is_dir()):
        texts = [file.read_bytes() for file in sorted(folder.glob("text*"))]
        cases.append(Case(folder.name, grammars(folder), texts + made.get(folder.name, [])))
    return cases


def grammars(folder: Path) -> dict[str, str]:
    files = {"gbnf": "grammar.gbnf", "lark": "grammar.lark", "json_schema": "schema.json"}
    return {form: (folder / file).read_text() for form, file in files.items() if (folder / file).exists()}


def schemas(folder: Path, limit: int | None) -> Iterator[Case]:
    """MaskBench's files: {"schema": ..., "tests": [{"data": ..., "valid": ...}, ...]}; the valid documents."""
    for path in sorted(folder.glob("*.json"))[:limit]:
        data = json.loads(path.read_text())
        texts = [json.dumps(test["data"], ensure_ascii=False) for test in data["tests"] if test["valid"]]
        yield Case(
            path.stem, {"json_schema": json.dumps(data["schema"])}, [t.encode("utf-8", "surrogatepass") for t in texts]
        )


def generated(length: int) -> dict[str, list[bytes]]:
    """Name of a case -> texts of about `length` bytes."""
    half = length // 2
    letters = "".join(random.Random(2).choices("abc", k=half)).encode()
    return {
        "ambiguous": [
            b"a" * length,
            b"(" * half + b")" * half,
            b"a" * half + b"b" * (half - 1),
            (b"a(a(a)aab)" * length)[: length // 10 * 10],
        ],
        "ambiguous_sums": [b"z" + b"+z" * half],
        "dangling_else": [b"if x then " * (length // 10) + b"y", (b"if x then y else " * (length // 17)) + b"y"],
        "palindromes": [letters + letters[::-1]],
        "arithmetic": [b"-" * n + b"1\n" for n in (1, 2, 3, 5, 8, 16, 32, 64, 111, 112, 113, 224)],
    }
