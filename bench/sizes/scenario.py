"""Mask and commit on vocabularies of four sizes: how latency, compile time and memory grow with the vocabulary.

The cases are those of the latency scenario, all together. Unless --vocabulary names GGUF files, vocabularies are made,
except that of 49,152 tokens, which is the demo model's.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from .. import options, vocabularies
from ..figures import Report, Table, mib, percentiles
from ..latency import scenario as latency

DESCRIPTION: Final = "the latency scenario on 32k, 49k, 128k and 262k vocabularies"
DEFAULT_CONTENDERS: Final = ("glrsampler", "glrsampler eager", "llguidance", "glrmask")
DEFAULT_VOCABULARIES: Final = ("synthetic:32000", "demo", "synthetic:128256", "synthetic:262144")
POINTS: Final = ("p50", "p99", "p99.9", "max")


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_contenders(parser, DEFAULT_CONTENDERS)
    options.add_vocabulary(parser, *DEFAULT_VOCABULARIES)
    latency.add_cases(parser)


def run(arguments: argparse.Namespace) -> Report:
    columns = ["vocabulary", "tokens", "contender", "cases", "compile + first mask p50, ms", "max"]
    columns += [f"{kind} {point}" for kind in ("first", "warm") for point in POINTS]
    table = Table("Mask + commit in microseconds, all cases together.", [*columns, "constraints, MiB", "peak RSS, MiB"])
    outcomes: list[latency.Outcome] = []
    for vocabulary in options.chosen_vocabularies(arguments):
        size = len(vocabularies.load(vocabulary).tokens)
        found, missing = latency.run_vocabulary(arguments, vocabulary)
        outcomes += found
        for contender in dict.fromkeys(outcome.contender for outcome in found):
            mine = [outcome for outcome in found if outcome.contender == contender and outcome.usable]
            if not mine:
                table.rows.append([vocabulary, size, contender, "no case was done", *[""] * (len(table.columns) - 4)])
                continue
            compiles = percentiles([outcome.compiled.first_mask_ns for outcome in mine if outcome.compiled])
            first = percentiles([time for outcome in mine for time in outcome.first.both])
            warm = percentiles([time for outcome in mine for time in outcome.warm.both])
            table.rows.append(
                [
                    mine[0].vocabulary,
                    size,
                    contender,
                    len(mine),
                    compiles["p50"] / 1e3,
                    compiles["max"] / 1e3,
                    *(first[point] for point in POINTS),
                    *(warm[point] for point in POINTS),
                    mib(sum(outcome.size or 0 for outcome in mine)) or "-",
                    mib(max(outcome.peak for outcome in mine)),
                ]
            )
        table.rows += options.missing_rows(missing, len(table.columns))
    settings = {"rounds": arguments.rounds, "length": arguments.length, "core": arguments.core}
    report = Report("sizes", settings, [table], [latency.figures(outcome) for outcome in outcomes])
    report.faults = latency.faults(outcomes)
    return report


def plot(report: Report, path: Path) -> None:
    """A panel a vocabulary: the distributions' tails. Needs matplotlib."""
    latency.plot(report, path)
