"""Grammar files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ._core import Grammar
from .errors import GrammarError

# What reads a file, by its ending: the text and the path.
_READERS: dict[str, Callable[[str, Path], Grammar]] = {
    ".gbnf": lambda text, path: Grammar.from_gbnf(text, file=path.name),
    ".json": lambda text, path: Grammar.from_json_schema(text, file=path.name),
    ".lark": lambda text, path: Grammar.from_lark(text, folder=path.parent, file=path.name),
}


def read_grammar(path: str | os.PathLike[str]) -> Grammar:
    """Reads the grammar at `path`; its ending says which kind it is.

    GrammarError also for a file that is missing, not UTF-8, or of an unknown kind.
    """
    source = Path(path)
    known = ", ".join(_READERS)
    try:
        reader = _READERS[source.suffix.lower()]
    except KeyError:
        raise GrammarError(f"{source}: the ending says no kind of grammar", hint=f"known endings: {known}") from None
    try:
        text = source.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise GrammarError(f"{source}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise GrammarError(f"{source}: not UTF-8 at byte {error.start}", hint="save the file as UTF-8") from None
    return reader(text, source)
