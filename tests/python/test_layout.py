"""The arrows between the folders of cpp/: each includes only itself and those above it (docs/design.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CPP = ROOT / "cpp"

#: Top to bottom.
FOLDERS = ("support", "grammar", "expression", "vocabulary", "automaton", "matcher", "sampling", "llama")

#: Public headers, each with the first folder that may know it. Grammars know no vocabulary; expressions do, since token
#: literals are resolved there.
PUBLIC = {
    "error": "grammar",
    "grammar": "grammar",
    "limits": "expression",
    "vocabulary": "expression",
    "token_set": "vocabulary",
    "constraint": "automaton",
    "matcher": "matcher",
    "sampler": "sampling",
    "utf8_buffer": "sampling",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.suffix in (".cpp", ".hpp"))


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


def allowed(folder: str, include: str) -> bool:
    """Whether a file of the folder may have this line."""
    top, _, rest = include.partition("/")
    if not rest:
        return True  # beside the file itself; cpp/ has no headers of its own
    if top == "glrsampler":
        return FOLDERS.index(PUBLIC[Path(rest).stem]) <= FOLDERS.index(folder)
    return top in FOLDERS and FOLDERS.index(top) <= FOLDERS.index(folder)


def test_every_folder_has_its_place() -> None:
    folders = {path.name for path in CPP.iterdir() if path.is_dir()}
    assert folders == {*FOLDERS, "include"}
    assert {path.stem for path in (CPP / "include" / "glrsampler").glob("*.hpp")} == set(PUBLIC)
    assert not list(CPP.glob("*.hpp"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_includes_only_those_above_it(folder: str) -> None:
    files = list(sources(CPP / folder))
    assert files
    wrong = [
        (str(path.relative_to(ROOT)), line) for path in files for line in includes(path) if not allowed(folder, line)
    ]
    assert wrong == []


def test_public_headers_include_only_public_headers() -> None:
    order = list(PUBLIC)
    for path in sources(CPP / "include"):
        for line in includes(path):
            top, _, name = line.partition("/")
            assert top == "glrsampler", (path.name, line)
            assert order.index(Path(name).stem) < order.index(path.stem), (path.name, line)


def test_bindings_know_public_headers_and_the_adapter() -> None:
    lines = {line for path in sources(ROOT / "bindings") for line in includes(path)}
    assert lines
    assert {line for line in lines if not line.startswith("glrsampler/")} <= {
        "bindings.hpp",
        "llama/adapter.hpp",
        "llama/interruption.hpp",
    }


@pytest.mark.parametrize(
    ("folder", "include", "expected"),
    [
        ("matcher", "automaton/stack.hpp", True),
        ("automaton", "matcher/mask.hpp", False),
        ("grammar", "glrsampler/vocabulary.hpp", False),
        ("expression", "glrsampler/vocabulary.hpp", True),
        ("support", "glrsampler/error.hpp", False),
        ("llama", "elsewhere/x.hpp", False),
    ],
)
def test_the_rule_itself(folder: str, include: str, expected: bool) -> None:
    assert allowed(folder, include) is expected
