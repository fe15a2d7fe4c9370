"""Latency of masks and commits over the texts of a set of grammars.

For each case and contender, contenders taking turns:

  cold     nothing was compiled for the vocabulary before: compile, one pass, bytes of the constraint
  first    a small JSON text was done before, so the vocabulary is warm but the grammar is new: compile, one pass
  warm     further passes; of each token the fastest

A mask is compared with the reference contender's, bit for bit. Between our own modes a difference is a fault. A
peer reads another format in part (Lark, with a lexer that takes the longest match), so its differences say that
the languages differ and are only counted.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .. import cases, contenders, options, plots, vocabularies
from ..figures import POINTS, Report, Table, mib, percentiles, ratio
from ..worker import Compiled, Failed, Pass, Worker, start_all

DESCRIPTION: Final = "mask and commit latency over texts, compile times, memory"
DEFAULT_CONTENDERS: Final = tuple(contenders.NAMES)

#: What makes a vocabulary warm.
WARM_TEXT: Final = b'{"a": ["b", 1.5e3, null, true]}'


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_contenders(parser, DEFAULT_CONTENDERS)
    options.add_vocabulary(parser, "demo")
    add_cases(parser)


def add_cases(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", action="append", help="name of a folder of bench/data; repeatable (default: all)")
    parser.add_argument("--length", type=int, default=1000, help="bytes of texts of ambiguous grammars (default: 1000)")
    parser.add_argument("--rounds", type=int, default=3, help="warm passes (default: 3)")
    parser.add_argument("--schemas", type=Path, help="a folder of MaskBench files to use instead of bench/data")
    parser.add_argument("--limit", type=int, help="at most so many of them")


@dataclass
class Outcome:
    """One case of one contender."""

    vocabulary: str
    case: str
    contender: str
    error: str = ""
    cold: Compiled | None = None
    compiled: Compiled | None = None
    cold_pass: Pass = field(default_factory=Pass)
    first: Pass = field(default_factory=Pass)
    warm: Pass = field(default_factory=Pass)
    size: int | None = None  # as the engine counts
    grown: int = 0  # resident bytes, by compile and one pass
    answers: list[str] = field(default_factory=list)
    differing: int = 0  # masks that are not the reference's
    peak: int = 0

    @property
    def usable(self) -> bool:
        return not self.error and bool(self.warm.masks)


def run(arguments: argparse.Namespace) -> Report:
    outcomes: list[Outcome] = []
    missing: dict[str, str] = {}
    for vocabulary in options.chosen_vocabularies(arguments):
        found, absent = run_vocabulary(arguments, vocabulary)
        outcomes += found
        missing |= absent
    settings = {"rounds": arguments.rounds, "length": arguments.length, "core": arguments.core}
    report = Report("latency", settings, tables(outcomes, missing), [figures(outcome) for outcome in outcomes])
    report.faults = faults(outcomes)
    return report


def run_vocabulary(arguments: argparse.Namespace, vocabulary: str) -> tuple[list[Outcome], dict[str, str]]:
    tokens = vocabularies.load(vocabulary)
    cut = vocabularies.tokenizer(tokens)
    if arguments.schemas:
        chosen = list(cases.schemas(arguments.schemas, arguments.limit))
    else:
        chosen = [case for case in cases.load(arguments.length) if not arguments.case or case.name in arguments.case]
    workers, missing = start_all(
        options.chosen_contenders(arguments), vocabulary, seconds=arguments.seconds, core=arguments.core
    )
    outcomes: list[Outcome] = []
    try:
        for case in chosen:
            print(f"latency: {tokens.name}: {case.name}", file=sys.stderr)
            texts = [cut(text) for text in case.texts]
            outcomes += run_case(case, texts, cut(WARM_TEXT), workers, arguments.rounds, tokens.name)
    finally:
        for worker in workers:
            worker.close()
    return outcomes, missing


def run_case(
    case: cases.Case, texts: list[list[int]], warm_text: list[int], workers: list[Worker], rounds: int, vocabulary: str
) -> list[Outcome]:
    outcomes = {worker: Outcome(vocabulary, case.name, worker.name) for worker in workers}
    warm_case = cases.grammars(cases.DATA / "json")

    def cold(worker: Worker, outcome: Outcome) -> None:
        before, _ = worker.memory()
        outcome.cold = worker.compile(case.grammars, fresh=True)
        outcome.cold_pass = worker.run(texts)
        outcome.grown = worker.memory()[0] - before
        outcome.size = worker.size()

    def first(worker: Worker, outcome: Outcome) -> None:
        worker.compile(warm_case, fresh=True)
        worker.run([warm_text])
        outcome.compiled = worker.compile(case.grammars, fresh=False)
        outcome.first = worker.run(texts)

    def warm(worker: Worker, outcome: Outcome) -> None:
        outcome.warm = fastest(outcome.warm, worker.run(texts))

    def answers(worker: Worker, outcome: Outcome) -> None:
        outcome.answers = worker.answers(texts)
        outcome.peak = worker.memory()[1]

    for stage in (cold, first, *[warm] * rounds, answers):
        for worker, outcome in outcomes.items():
            if outcome.error:
                continue
            try:
                stage(worker, outcome)
            except Failed as failed:
                outcome.error = f"{stage.__name__}: {failed}"
    found = list(outcomes.values())
    reference = next((o for o in found if o.contender == contenders.REFERENCE and not o.error), None)
    for outcome in found:
        if reference is not None:
            # Both may have stopped early, when time was up.
            outcome.differing = sum(x != y for x, y in zip(reference.answers, outcome.answers, strict=False))
    return found


def fastest(best: Pass, new: Pass) -> Pass:
    """Of each token the faster of two passes over the same texts."""
    if not best.masks:
        return new
    if len(new.masks) < len(best.masks):
        return best
    masks = [min(pair) for pair in zip(best.masks, new.masks, strict=False)]
    commits = [min(pair) for pair in zip(best.commits, new.commits, strict=False)]
    return Pass(masks, commits, new.accepted, new.complete)


def faults(outcomes: list[Outcome]) -> list[str]:
    found = []
    for outcome in outcomes:
        if outcome.contender not in contenders.OURS:
            continue
        where = f"{outcome.vocabulary}, {outcome.case}, {outcome.contender}"
        if outcome.error:
            found.append(f"{where}: {outcome.error}")
        if outcome.differing:
            found.append(f"{where}: {outcome.differing} masks are not the reference's")
        if not all(outcome.first.accepted):
            found.append(f"{where}: a sentence was refused")
    return found


def figures(outcome: Outcome) -> dict[str, object]:
    """For the JSON file: every time in nanoseconds."""
    result: dict[str, object] = {
        key: value for key, value in vars(outcome).items() if isinstance(value, str | int | float) or value is None
    }
    for name in ("cold", "compiled"):
        made: Compiled | None = getattr(outcome, name)
        result[name] = vars(made) if made else None
    for name in ("cold_pass", "first", "warm"):
        result[name] = vars(getattr(outcome, name))
    return result


def tables(outcomes: list[Outcome], missing: dict[str, str]) -> list[Table]:
    made = []
    for vocabulary in dict.fromkeys(outcome.vocabulary for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.vocabulary == vocabulary]
        made += [by_case(vocabulary, mine, missing), distributions(vocabulary, mine), ratios(vocabulary, mine)]
    return made


def by_case(vocabulary: str, outcomes: list[Outcome], missing: dict[str, str]) -> Table:
    columns = [
        "case",
        "contender",
        "compile + first mask, ms",
        "cold",
        "first pass p50",
        "p99",
        "max",
        "warm p50",
        "p99",
    ]
    columns += ["max", "constraint, MiB", "grown, MiB", "texts accepted", "masks compared", "differing"]
    table = Table(f"{vocabulary}: mask + commit in microseconds, by case.", columns)
    for o in outcomes:
        if not o.usable or o.compiled is None or o.cold is None:
            table.rows.append([o.case, o.contender, o.error or "no token taken", *[""] * (len(columns) - 3)])
            continue
        first, warm = percentiles(o.first.both), percentiles(o.warm.both)
        late = "" if o.first.complete else " (time was up)"
        table.rows.append(
            [
                o.case,
                o.contender,
                o.compiled.first_mask_ns / 1e6,
                o.cold.first_mask_ns / 1e6,
                *(first[point] for point in ("p50", "p99", "max")),
                *(warm[point] for point in ("p50", "p99", "max")),
                "-" if o.size is None else mib(o.size),
                mib(o.grown),
                f"{sum(o.first.accepted)}/{len(o.first.accepted)}{late}",
                len(o.answers),
                o.differing,
            ]
        )
    table.rows += options.missing_rows(missing, len(columns))
    return table


def distributions(vocabulary: str, outcomes: list[Outcome]) -> Table:
    columns = ["contender", "what", "tokens", *(name for name, _ in POINTS), "peak RSS, MiB"]
    table = Table(f"{vocabulary}: all cases of a contender together, in microseconds.", columns)
    for contender in dict.fromkeys(outcome.contender for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.contender == contender and outcome.usable]
        if not mine:
            continue
        peak = mib(max(outcome.peak for outcome in mine))
        for name in ("first", "warm"):
            for what in ("masks", "commits", "both"):
                times = [time for outcome in mine for time in getattr(getattr(outcome, name), what)]
                table.rows.append([contender, f"{name}: {what}", len(times), *percentiles(times).values(), peak])
        compiles = [o.compiled.first_mask_ns for o in mine if o.compiled]
        table.rows.append([contender, "compile + first mask", len(compiles), *percentiles(compiles).values(), peak])
    return table


def ratios(vocabulary: str, outcomes: list[Outcome]) -> Table:
    points = ("p50", "p99", "p99.9", "max")
    table = Table(
        f"{vocabulary}: ours over the peer's, on the cases that both did; below 1 is faster.",
        ["ours", "peer", "cases", "what", *points],
    )
    usable = [outcome for outcome in outcomes if outcome.usable]
    ours = [name for name in contenders.OURS if any(o.contender == name for o in usable)]
    for mine in ours:
        for peer in dict.fromkeys(o.contender for o in usable if o.contender not in contenders.OURS):
            shared = {o.case for o in usable if o.contender == mine} & {o.case for o in usable if o.contender == peer}
            for what in ("compile + first mask", "first: both", "warm: both"):
                one, two = (
                    percentiles(
                        [t for o in usable if o.contender == name and o.case in shared for t in _times(o, what)]
                    )
                    for name in (mine, peer)
                )
                table.rows.append([mine, peer, len(shared), what, *(ratio(one.get(p), two.get(p)) for p in points)])
    return table


def _times(outcome: Outcome, what: str) -> list[int]:
    if what == "compile + first mask":
        return [outcome.compiled.first_mask_ns] if outcome.compiled else []
    return outcome.first.both if what.startswith("first") else outcome.warm.both


def plot(report: Report, path: Path) -> None:
    """The tails of the warm distributions. Needs matplotlib."""
    panels: plots.Panels = {}
    for entry in report.figures:
        if not entry["error"]:
            times = panels.setdefault(entry["vocabulary"], {}).setdefault(entry["contender"], [])
            times += [m + c for m, c in zip(entry["warm"]["masks"], entry["warm"]["commits"], strict=True)]
    plots.tails(panels, path)
