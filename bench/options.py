"""Options that scenarios have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from glrsampler.cli import embedded_model

from . import contenders
from .figures import Cell


def add_contenders(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    parser.add_argument(
        "--contender",
        action="append",
        choices=list(contenders.NAMES),
        help=f"repeatable (default: {', '.join(default)}; those that are installed)",
    )
    parser.set_defaults(default_contenders=list(default))
    parser.add_argument("--seconds", type=float, default=30, help="for one pass or compile of a contender")
    parser.add_argument("--core", type=int, help="pin contenders to this core")


def add_vocabulary(parser: argparse.ArgumentParser, *default: str) -> None:
    shown = ", ".join(default)
    parser.add_argument(
        "--vocabulary",
        action="append",
        metavar="V",
        help=f"path of a GGUF file, 'demo' (model), 'hyphens' or 'synthetic:SIZE'; repeatable (default: {shown})",
    )
    parser.set_defaults(default_vocabularies=default)


def chosen_contenders(options: argparse.Namespace) -> list[str]:
    names: list[str] = options.contender or options.default_contenders
    return [name for name in contenders.NAMES if name in names]


def chosen_vocabularies(options: argparse.Namespace) -> list[str]:
    names: list[str] = options.vocabulary or options.default_vocabularies
    return [str(embedded_model()) if name == "demo" else name for name in names]


def missing_rows(missing: dict[str, str], columns: int) -> list[Sequence[Cell]]:
    """Contenders that could not be had, for the end of a table."""
    return [[name, why, *[""] * (columns - 2)] for name, why in missing.items()]
