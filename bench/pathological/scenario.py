"""Whether time grows: with the parsing that one token hides, and with the length of a text.

The first table is an expression grammar with unary minus on a vocabulary in which runs of 1 to 112 hyphens are
single tokens: the mask should not depend on the length of the run, a commit reads the token's bytes. The second is
ambiguous and nested grammars over thousands of tokens of one byte: the first half of the text against the second.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Final

from .. import cases, contenders, options, plots, vocabularies
from ..figures import Report, Table, percentiles
from ..latency.scenario import fastest
from ..worker import Failed, Pass, Worker, start_all

DESCRIPTION: Final = "growth of mask time with hidden parsing and with length"
DEFAULT_CONTENDERS: Final = ("glrsampler", "glrsampler eager", "llguidance", "glrmask")

#: Tokens of each run length, one after the other in a text.
REPEATS: Final = 20
SHOWN_RUNS: Final = (1, 2, 4, 8, 16, 32, 64, 112)
LONG: Final = ("ambiguous", "ambiguous_sums", "dangling_else", "palindromes")


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_contenders(parser, DEFAULT_CONTENDERS)
    options.add_vocabulary(parser, "hyphens")
    parser.add_argument("--length", type=int, default=10_000, help="tokens of a long text (default: 10000)")
    parser.add_argument("--rounds", type=int, default=3, help="passes; of each token the fastest (default: 3)")


def run(arguments: argparse.Namespace) -> Report:
    runs = Table(
        "Expressions with unary minus: median in microseconds, by the hyphens in the token that was committed last"
        " (mask) or is committed (commit).",
        ["vocabulary", "contender", "what", *map(str, SHOWN_RUNS), "p99.9 of all", "longest run over shortest"],
    )
    halves = Table(
        "Texts of many tokens: mask + commit in microseconds, first half and second half.",
        [
            "vocabulary",
            "case",
            "contender",
            "tokens",
            "p50",
            "second p50",
            "p99",
            "second p99",
            "max",
            "second max",
            "growth",
        ],
    )
    figures: list[dict[str, object]] = []
    for vocabulary in options.chosen_vocabularies(arguments):
        tokens = vocabularies.load(vocabulary)
        ids = {data: token for token, data in enumerate(tokens.tokens) if data}
        workers, missing = start_all(
            options.chosen_contenders(arguments), vocabulary, seconds=arguments.seconds, core=arguments.core
        )
        try:
            measure_runs(workers, ids, tokens.name, arguments.rounds, runs, figures)
            measure_halves(workers, ids, tokens.name, arguments, halves, figures)
        finally:
            for worker in workers:
                worker.close()
        runs.rows += options.missing_rows(missing, len(runs.columns))
    settings = {"length": arguments.length, "rounds": arguments.rounds}
    report = Report("pathological", settings, [runs, halves], figures)
    report.faults = [
        f"{entry['case']}, {entry['contender']}: {entry['error']}"
        for entry in figures
        if entry["error"] and entry["contender"] in contenders.OURS
    ]
    return report


def measure(
    workers: list[Worker], grammars: dict[str, str], texts: list[list[int]], rounds: int
) -> dict[str, Pass | str]:
    """The fastest of the passes by contender, or why there is none. Contenders take turns."""
    results: dict[str, Pass | str] = {}
    for worker in workers:
        try:
            worker.compile(grammars, fresh=True)
            results[worker.name] = Pass()
        except Failed as failed:
            results[worker.name] = str(failed)
    for _ in range(rounds):
        for worker in workers:
            best = results[worker.name]
            if isinstance(best, str):
                continue
            try:
                new = worker.run(texts)
            except Failed as failed:
                results[worker.name] = str(failed)
                continue
            results[worker.name] = fastest(best, new) if all(new.accepted) else "refused a sentence"
    return results


def measure_runs(
    workers: list[Worker],
    ids: dict[bytes, int],
    vocabulary: str,
    rounds: int,
    table: Table,
    figures: list[dict[str, object]],
) -> None:
    print(f"pathological: {vocabulary}: hyphens", file=sys.stderr)
    lengths = [n for n in range(1, vocabularies.HYPHENS + 1) if b"-" * n in ids]
    texts = [[ids[b"-" * n]] * REPEATS + [ids[b"1"], ids[b"\n"]] for n in lengths]
    results = measure(workers, cases.grammars(cases.DATA / "arithmetic"), texts, rounds)
    for name, result in results.items():
        entry: dict[str, object] = {"case": "hyphens", "vocabulary": vocabulary, "contender": name, "error": ""}
        figures.append(entry)
        if isinstance(result, str):
            entry["error"] = result
            table.rows.append([vocabulary, name, result, *[""] * (len(table.columns) - 3)])
            continue
        # Index 0 of a text is its start, before any hyphen: the same mask for every run.
        step = REPEATS + 2
        for what, times in (("mask", result.masks), ("commit", result.commits)):
            medians = {
                n: statistics.median(times[i * step + 1 : i * step + REPEATS]) / 1e3
                for i, n in enumerate(lengths)
                if (i + 1) * step <= len(times)
            }
            entry[what] = medians
            shown = [medians.get(n, "-") for n in SHOWN_RUNS]
            growth = medians[max(medians)] / medians[min(medians)] if medians else "-"
            table.rows.append([vocabulary, name, what, *shown, percentiles(times).get("p99.9", "-"), growth])


def measure_halves(
    workers: list[Worker],
    ids: dict[bytes, int],
    vocabulary: str,
    arguments: argparse.Namespace,
    table: Table,
    figures: list[dict[str, object]],
) -> None:
    made = cases.generated(arguments.length)
    for case in LONG:
        print(f"pathological: {vocabulary}: {case}", file=sys.stderr)
        for number, text in enumerate(made[case]):
            name = f"{case} {number + 1}" if len(made[case]) > 1 else case
            tokens = [ids[bytes([byte])] for byte in text]
            results = measure(workers, cases.grammars(cases.DATA / case), [tokens], arguments.rounds)
            for contender, result in results.items():
                entry: dict[str, object] = {"case": name, "vocabulary": vocabulary, "contender": contender, "error": ""}
                figures.append(entry)
                if isinstance(result, str):
                    entry["error"] = result
                    table.rows.append([vocabulary, name, contender, result, *[""] * (len(table.columns) - 4)])
                    continue
                both = result.both
                first, second = percentiles(both[: len(both) // 2]), percentiles(both[len(both) // 2 :])
                entry |= {"first": first, "second": second, "complete": result.complete}
                taken = f"{len(both):,}" if result.complete else f"{len(both):,} (time was up)"
                pairs = [half[point] for point in ("p50", "p99", "max") for half in (first, second)]
                table.rows.append([vocabulary, name, contender, taken, *pairs, second["p50"] / first["p50"]])


def plot(report: Report, path: Path) -> None:
    """Mask over the hyphens in a token. Needs matplotlib."""
    figure, axes = plots.pyplot().subplots(figsize=(8, 5))
    for entry in report.figures:
        if "mask" in entry:
            label = f"{entry['contender']}, {entry['vocabulary']}"
            axes.plot(list(entry["mask"]), list(entry["mask"].values()), label=label)
    axes.set(yscale="log", xlabel="hyphens in the token", ylabel="mask, microseconds")
    axes.grid(alpha=0.3)
    axes.legend()
    plots.save(figure, path)
