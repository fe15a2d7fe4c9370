"""Runs benchmarks: python -m bench SCENARIO, or `all`, from the root of the repository.

Tables go to standard output as Markdown. With --out every figure goes to FOLDER/SCENARIO.json, and a plot beside it
when matplotlib is installed; with --write the tables also replace those between the scenario's markers in a document
(docs/performance.md; `lexing` has its place in docs/lexing.md, `languages` in docs/comparison.md). Exit status 1:
something that must not be was seen (a mask that depends on the mode, say).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path

from .figures import Report

SCENARIOS = (
    "latency",
    "sizes",
    "pathological",
    "deep",
    "compile",
    "sampling",
    "speed",
    "forced",
    "lexing",
    "languages",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="SCENARIO", dest="scenario")
    for name in SCENARIOS:
        module = importlib.import_module(f"bench.{name}.scenario")
        command = commands.add_parser(
            name,
            help=module.DESCRIPTION,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_options(command)
        _add_outputs(command)
    _add_outputs(commands.add_parser("all", help="every scenario with its defaults"))
    options = parser.parse_args()
    names = SCENARIOS if options.scenario == "all" else (options.scenario,)
    status = 0
    for name in names:
        arguments = parser.parse_args([name]) if options.scenario == "all" else options
        report: Report = importlib.import_module(f"bench.{name}.scenario").run(arguments)
        print(f"## {name}\n\n{report.markdown()}", flush=True)
        _write(report, options)
        for fault in report.faults:
            print(f"FAULT: {name}: {fault}", file=sys.stderr)
            status = 1
    return status


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for SCENARIO.json and SCENARIO.svg")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="for SCENARIO.svg alone (docs/plots)")
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="Markdown file with the scenario's markers")


def _write(report: Report, options: argparse.Namespace) -> None:
    # Not every document has a place for all of them.
    if options.write and (options.scenario != "all" or report.has_place(options.write)):
        report.write_markdown(options.write)
    module = importlib.import_module(f"bench.{report.scenario}.scenario")
    for folder in filter(None, (options.out, options.plots)):
        folder.mkdir(parents=True, exist_ok=True)
        if hasattr(module, "plot") and importlib.util.find_spec("matplotlib"):
            module.plot(report, folder / f"{report.scenario}.svg")
    if options.out:
        report.write_json(options.out / f"{report.scenario}.json")


if __name__ == "__main__":
    sys.exit(main())
