"""Tokens a second of a model: alone, under llama.cpp's grammar, and under ours, in turns on one loaded model.

Counted after the first step, so that the prompt's evaluation is left out. Texts end where the model or the grammar
ends them, so a turn is all questions together.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

import glrsampler as glr

from .. import options
from ..figures import Report, Table
from . import task

DESCRIPTION: Final = "tokens per second of a real model, with and without grammars"
GRAMMAR: Final = Path(__file__).parent.parent.parent / "grammars" / "json.gbnf"


class Contender(Protocol):
    def steps(self, prompt: str) -> Iterator[int]:
        """One answer: how many tokens each step of the model added."""
        ...


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_vocabulary(parser, "demo")
    parser.add_argument("--grammar", type=Path, default=GRAMMAR, help="GBNF file (default: grammars/json.gbnf)")
    parser.add_argument("--tokens", type=int, default=192, help="of one answer at most (default: 192)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="of llama.cpp (default: 2)")


def run(arguments: argparse.Namespace) -> Report:
    table = Table(
        "Median over the rounds of tokens a second, and of the ratio within a round.",
        ["model", "contender", "tokens/s", "of unconstrained", "of llama.cpp's grammar", "tokens of a round"],
    )
    report = Report("speed", {"grammar": arguments.grammar.name, "threads": arguments.threads}, [table], {})
    for path in options.chosen_vocabularies(arguments):
        speeds, counts = measure(path, arguments)
        report.figures[Path(path).stem] = {"tokens_per_second": speeds, "tokens": counts}
        for name, values in speeds.items():
            ratios = [
                statistics.median(a / b for a, b in zip(values, speeds[base], strict=True))
                for base in ("unconstrained", "llama.cpp's grammar")
            ]
            table.rows.append([Path(path).stem, name, statistics.median(values), *ratios, counts[name]])
    return report


def measure(path: str, arguments: argparse.Namespace) -> tuple[dict[str, list[float]], dict[str, int]]:
    from .glrsampler_stream import GlrSampler
    from .llama_cpp_grammar import LlamaCppGrammar
    from .unconstrained import Unconstrained

    threads = arguments.threads
    llm = glr.Llama(model_path=path, n_ctx=1024, n_threads=threads, n_threads_batch=threads, verbose=False)
    gbnf = arguments.grammar.read_text()
    contenders: dict[str, Contender] = {
        "unconstrained": Unconstrained(llm),
        "llama.cpp's grammar": LlamaCppGrammar(llm, gbnf),
        "glrsampler": GlrSampler(llm, gbnf),
    }
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    counts: dict[str, int] = {}
    for turn in range(arguments.rounds):
        for name, contender in contenders.items():
            print(f"speed: round {turn + 1}: {name}", file=sys.stderr)
            count, seconds = answer_all(contender, arguments.tokens)
            speeds[name].append(count / seconds)
            counts[name] = count
    return speeds, counts


def answer_all(contender: Contender, limit: int) -> tuple[int, float]:
    """Tokens after each answer's first step, and the seconds they took."""
    count, seconds = 0, 0.0
    for question in task.QUESTIONS:
        steps = contender.steps(task.prompt(question))
        next(steps, None)
        began = time.perf_counter()
        taken = 0
        for tokens in steps:
            taken += tokens
            if taken >= limit:
                break
        seconds += time.perf_counter() - began
        count += taken
    return count, seconds
