"""A constrained sampling step against llama.cpp's unconstrained one, in alternating runs.

The median of the rounds' mean step, and of the ratio of ours to theirs within a round, so that a disturbance
hits both. Without llama-cpp-python only our times are shown.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Mapping
from typing import Final

from ..figures import Cell, Report, Table
from . import glrsampler_step, task

DESCRIPTION: Final = "one sampling step, logits to token, against llama.cpp without a grammar"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=20, help="a round")
    parser.add_argument("--size", type=int, action="append", help="of the vocabulary; may be repeated")


def run(arguments: argparse.Namespace) -> Report:
    table = Table(
        "Microseconds a step, by the share of the vocabulary that the grammar allows.",
        ["vocabulary", "allowed", "ours", "llama.cpp, no grammar", "ratio", "aim"],
    )
    figures: dict[str, dict[str, list[float]]] = {}
    for size in arguments.size or task.VOCABULARY_SIZES:
        step = task.Step.of(size)
        vocabulary = glrsampler_step.vocabulary(size)
        contenders: dict[str, task.Contender] = {}
        if importlib.util.find_spec("llama_cpp"):
            from . import llama_cpp_step

            contenders["llama.cpp"] = llama_cpp_step.Unconstrained(step)
        for name, gbnf in task.GRAMMARS.items():
            contenders[name] = glrsampler_step.Constrained(step, vocabulary, gbnf)
        times = measure(contenders, arguments.rounds, arguments.steps)
        figures[str(size)] = dict(times)
        theirs = times.pop("llama.cpp", None)
        for name, ours in times.items():
            compared: list[Cell] = ["-", "-"]
            if theirs is not None:
                ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
                compared = [statistics.median(theirs), ratio]
            table.rows.append([size, name, statistics.median(ours), *compared, task.AIMS[name]])
    return Report("sampling", {"rounds": arguments.rounds, "steps": arguments.steps}, [table], figures)


def measure(contenders: Mapping[str, task.Contender], rounds: int, steps: int) -> dict[str, list[float]]:
    """Each contender's rounds; they take turns."""
    for contender in contenders.values():
        mean_step(contender, 3)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            times[name].append(mean_step(contender, steps))
    return times


def mean_step(contender: task.Contender, steps: int) -> float:
    """Microseconds a step, over `steps` steps."""
    start = time.perf_counter_ns()
    for _ in range(steps):
        contender.run()
    return (time.perf_counter_ns() - start) / steps / 1e3
