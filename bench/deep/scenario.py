"""A generation of a million tokens, and a hundred thousand brackets open at once.

The text is cut into windows; what is flat in the windows does not grow with length or depth. Every token is one byte.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Final

from .. import cases, contenders, options, vocabularies
from ..figures import Cell, Report, Table, mib, percentiles
from ..latency.scenario import fastest
from ..worker import Failed, Pass, start_all

DESCRIPTION: Final = "a million tokens; a hundred thousand open brackets"
DEFAULT_CONTENDERS: Final = ("glrsampler",)
WINDOWS: Final = 10
ELEMENT: Final = b'{"name": "Ann", "ages": [1, 2.5, -3e4], "ok": true}, '


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_contenders(parser, DEFAULT_CONTENDERS)
    options.add_vocabulary(parser, "demo")
    parser.set_defaults(seconds=300.0)
    parser.add_argument("--tokens", type=int, default=1_000_000, help="of the long text (default: 1000000)")
    parser.add_argument("--depth", type=int, default=100_000, help="brackets open at once (default: 100000)")
    parser.add_argument("--rounds", type=int, default=2, help="passes; of each token the fastest (default: 2)")


def texts(tokens: int, depth: int) -> dict[str, bytes]:
    repeated = bytes(itertools.islice(itertools.cycle(ELEMENT), tokens - 1))
    # Cut at the last element that is whole.
    whole = repeated[: repeated.rfind(b"}, ") + 1] if b"}, " in repeated else b"1"
    return {"long": b"[" + whole + b"]", "deep": b"[" * depth + b"]" * depth}


def run(arguments: argparse.Namespace) -> Report:
    table = Table(
        "Mask + commit in microseconds in each tenth of the text: p50 / max. Memory is what one pass added.",
        [
            "vocabulary",
            "text",
            "contender",
            "tokens",
            *(str(n + 1) for n in range(WINDOWS)),
            "grown, MiB",
            "peak RSS, MiB",
        ],
    )
    figures: list[dict[str, object]] = []
    report = Report("deep", {"tokens": arguments.tokens, "depth": arguments.depth, "rounds": arguments.rounds}, [table])
    report.figures = figures
    for vocabulary in options.chosen_vocabularies(arguments):
        tokens = vocabularies.load(vocabulary)
        ids = {data: token for token, data in enumerate(tokens.tokens) if len(data) == 1}
        workers, missing = start_all(
            options.chosen_contenders(arguments), vocabulary, seconds=arguments.seconds, core=arguments.core
        )
        for (name, text), worker in itertools.product(texts(arguments.tokens, arguments.depth).items(), workers):
            print(f"deep: {tokens.name}: {name}: {worker.name}", file=sys.stderr)
            try:
                worker.compile(cases.grammars(cases.DATA / "json"), fresh=True)
                before, _ = worker.memory()
                best = worker.run([[ids[bytes([byte])] for byte in text]])
                after, peak = worker.memory()
                for _ in range(arguments.rounds - 1):
                    best = fastest(best, worker.run([[ids[bytes([byte])] for byte in text]]))
            except Failed as failed:
                table.rows.append([tokens.name, name, worker.name, str(failed), *[""] * (len(table.columns) - 4)])
                if worker.name in contenders.OURS:
                    report.faults.append(f"{name}, {worker.name}: {failed}")
                continue
            if worker.name in contenders.OURS and not (best.complete and all(best.accepted)):
                report.faults.append(f"{name}, {worker.name}: not taken to its end")
            windows = [percentiles(window) for window in cut(best)]
            figures.append({"text": name, "vocabulary": tokens.name, "contender": worker.name, "windows": windows})
            shown = [f"{window['p50']:.3g} / {window['max']:.3g}" for window in windows]
            row: list[Cell] = [tokens.name, name, worker.name, len(best.masks), *shown, *[""] * (WINDOWS - len(shown))]
            table.rows.append([*row, mib(after - before), mib(peak)])
        for worker in workers:
            worker.close()
        table.rows += options.missing_rows(missing, len(table.columns))
    return report


def cut(result: Pass) -> list[list[int]]:
    both = result.both
    size = max(1, -(-len(both) // WINDOWS))
    return [both[at : at + size] for at in range(0, len(both), size)]
