"""Who accepts what, on small grammars whose terminals overlap: our readings, peers and Lark.

Texts are fed byte by byte, with a mask before each. Lark takes part with its LALR parser (whose lexer is the
contextual one) and with Earley's, whose lexer takes the longest match of each terminal (dynamic) or all of them
(dynamic_complete). A cell: yes, no, `error` (the grammar is refused), `no answer` (a mask was not done in time).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
from collections.abc import Callable
from typing import Final, Literal

import glrsampler as glr

from .. import contenders, options, vocabularies
from ..figures import Report, Table
from ..worker import Failed, Worker, start_all

DESCRIPTION: Final = "which texts are accepted where terminals overlap, by every lexer"
DEFAULT_CONTENDERS: Final = ("glrmask", "llguidance")

#: Grammar, texts.
CASES: Final = (
    ("start: A A\nA: /a+/", ["aa"]),
    ("start: A B\nA: /a+/\nB: /ab/", ["aab"]),
    ('start: x x\nx: "a" | "aa"', ["aa"]),
    ("start: L+\nL: /[^;]*;/", ["a;b"]),
    ('start: KW | NAME "!"\nKW: "if"\nNAME: /[a-z]+/', ["if!"]),
    ('start: "let" NAME\nNAME: /[a-z]+/', ["letx"]),
    ('start: "ab" " x" "c"\n%ignore / +/', ["ab xc", "ab  xc"]),
    ("start: A B C\nA: /x(yz)?/\nB: /y/\nC: /[wz]/", ["xyw", "xyz"]),
    ('start: A "b" | B "c"\nA: /a+/\nB: /a/', ["ac"]),
    ("start: NAME NAME\nNAME: /[a-z]+/\n%ignore / +/", ["ab"]),
    ('start: "a"\n%ignore / +/', [" a", "a "]),
    ('start: "a" "/" "b"\n%ignore /( |\\/\\*[a-z]*\\*\\/)+/', ["a /b"]),
    ('start: "let" _W NAME\nNAME: /[a-z]+/\n_W: /[ \\t]+/\n%ignore _W', ["let  x", "letx"]),
    ('start: "let" _W NAME\nNAME: /[a-z]+/\n_W: /[ \\t]+/\n%ignore /[ \\t]+/', ["let x"]),
    ('start: NAME NAME\nNAME: /[a-z]+/ & ~"on"', ["on"]),
    ("start: NAME NAME\nNAME: /(?!on\\b)[a-z]+/", ["on"]),
    ('start: A "!" | B "?"\nA.2: /[a-m]+/\nB: /[a-z]+/', ["abz?"]),
    ('start: INT ".." INT | FLOAT\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]*/', ["1..2"]),
    ('start: T "c"\nT: /b*a/ | "ab"', ["abc"]),
    ('start: S ";"\nS: /".*?"/', ['"a";']),
    ('start: A "b"\nA: /a*/', ["b"]),
)

Lexing = Literal["longest", "contextual", "all"]
OURS: Final[tuple[Lexing, ...]] = ("longest", "contextual", "all")
LARK: Final = {
    "Lark LALR": {"parser": "lalr"},
    "Lark Earley": {"parser": "earley"},
    "Lark Earley, complete": {"parser": "earley", "lexer": "dynamic_complete"},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_contenders(parser, DEFAULT_CONTENDERS)
    parser.set_defaults(seconds=2.0)


def run(arguments: argparse.Namespace) -> Report:
    ask: dict[str, Callable[[str, str], str]] = {lexing: _ours(lexing) for lexing in OURS}
    chosen = [name for name in options.chosen_contenders(arguments) if name not in contenders.OURS]
    workers, _ = start_all(chosen, "bytes", seconds=arguments.seconds, core=arguments.core)
    ask |= {worker.name: _peer(worker) for worker in workers}
    if importlib.util.find_spec("lark"):
        ask |= {name: _lark(settings) for name, settings in LARK.items()}
    title = (
        "Whether the text is a sentence; error: the grammar is refused; no answer: a mask was not done in 10 seconds."
    )
    table = Table(title, ["grammar", "text", *(f"`{name}`" if name in OURS else name for name in ask)])
    figures = []
    for grammar, texts in CASES:
        for text in texts:
            verdicts = {name: asked(grammar, text) for name, asked in ask.items()}
            figures.append({"grammar": grammar, "text": text, "verdicts": verdicts})
            lines = "<br>".join(f"`{line}`" for line in grammar.split("\n"))
            table.rows.append([lines, f"`{text}`", *verdicts.values()])
    for worker in workers:
        worker.close()
    versions = {name: importlib.metadata.version(name) for name in ("llguidance", "glrmask", "lark") if _has(name)}
    return Report("lexing", versions, [table], figures)


def _has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _ours(lexing: Lexing) -> Callable[[str, str], str]:
    vocabulary = vocabularies.load("bytes").ours

    def ask(grammar: str, text: str) -> str:
        try:
            matcher = glr.Grammar.from_lark(grammar, lexing=lexing).compile(vocabulary).matcher()
        except glr.GrammarError:
            return "error"
        return _shown(all(matcher.try_commit(byte) for byte in text.encode()) and matcher.accepting)

    return ask


def _peer(worker: Worker) -> Callable[[str, str], str]:
    def ask(grammar: str, text: str) -> str:
        try:
            worker.compile({"lark": grammar}, fresh=False)
            return _shown(worker.run([list(text.encode())]).accepted[0])
        except Failed as failed:
            return "no answer" if str(failed) == "out of time" else "error"

    return ask


def _lark(settings: dict[str, str]) -> Callable[[str, str], str]:
    from lark import Lark
    from lark.exceptions import LarkError

    def ask(grammar: str, text: str) -> str:
        try:
            parser = Lark(grammar, **settings)
        except Exception:  # regular expressions without a match and grammars with conflicts have errors of many kinds
            return "error"
        try:
            parser.parse(text)
        except LarkError:
            return "no"
        return "yes"

    return ask


def _shown(accepted: bool) -> str:
    return "yes" if accepted else "no"
