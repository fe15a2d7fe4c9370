"""Lark grammars of whole languages over real text: latency, and who accepts what.

Grammars: those of grammars/ and bench/data, and, where the packages are installed (or unpacked in a folder that
--texts names), the files of syncode and lark as their authors wrote them. Texts are cut from files that are installed
(texts.py); Lark's Earley parser says which are sentences (reference.py). They are fed to every contender as they are
and once more with one word deleted, doubled or swapped. A contender that refuses a file gets an equal one that is
plainer (adapted.py).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import random
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .. import cases, contenders, options, plots, vocabularies
from ..figures import Cell, Report, Table, percentiles
from ..worker import Failed, Pass, Worker, start_all
from . import adapted, texts
from .reference import Reference

DESCRIPTION: Final = "whole languages in Lark over real text: latency and verdicts beside peers"
DEFAULT_CONTENDERS: Final = ("glrsampler", "glrsampler eager", "llguidance", "glrmask")
GRAMMARS: Final = Path(__file__).parent.parent.parent / "grammars"
#: A terminal that is ignored is nothing to them where a rule names it, so they refuse what needs one.
NO_REQUIRED_BLANKS: Final = ("llguidance",)
POINTS: Final = ("p50", "p90", "p99", "p99.9", "max")


@dataclass(frozen=True)
class Language:
    name: str
    kind: str  # of its texts
    path: Path
    before: str = ""  # what makes a unit a text
    after: str = ""
    more: str = ""  # rules, where the file has no `start`

    def grammar(self) -> str:
        return self.path.read_text(encoding="utf-8") + self.more


@dataclass
class Sample:
    """Texts and what Lark says of them."""

    real: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    verdicts: dict[str, bool] = field(default_factory=dict)


@dataclass
class Outcome:
    """One language of one contender."""

    vocabulary: str
    language: str
    contender: str
    form: str = ""
    error: str = ""
    compile_ms: float = 0.0
    first_mask_ms: float = 0.0  # compile and first mask together
    timed: Pass = field(default_factory=Pass)
    verdicts: dict[str, tuple[bool, int]] = field(default_factory=dict)  # text -> sentence, bytes taken


def languages(folders: Sequence[Path]) -> tuple[list[Language], list[str]]:
    """Those that are there, and what was looked for and is not."""
    found = [
        Language("sql", "sql", GRAMMARS / "sql.lark"),
        Language("go_subset", "go", GRAMMARS / "go_subset.lark"),
        Language("javascript_expression", "javascript", GRAMMARS / "javascript_expression.lark"),
        Language("graphql_query", "graphql", GRAMMARS / "graphql_query.lark"),
        Language("shell_pipeline", "shell", GRAMMARS / "shell_pipeline.lark"),
        Language("latex_math", "latex", GRAMMARS / "latex_math.lark"),
        Language("python_subset", "python", GRAMMARS / "python_subset.lark"),
        Language("json", "json", cases.DATA / "json" / "grammar.lark"),
        Language("c_subset", "c", cases.DATA / "c_subset" / "grammar.lark"),
    ]
    missing = []
    syncode = _package("syncode", "parsers/grammars", folders)
    if syncode is None:
        missing.append("syncode")
    else:
        found += [
            Language("syncode sql", "sql", syncode / "sql.lark"),
            Language("syncode go", "go", syncode / "go.lark", "package main\n", "\n"),
            Language("syncode java", "java", syncode / "java.lark"),
            Language("syncode c", "c", syncode / "c.lark"),
            Language("syncode json", "json", syncode / "json.lark"),
            Language("syncode calc", "sums", syncode / "calc.lark"),
            Language("syncode python", "python", syncode / "python.lark"),
        ]
    lark = _package("lark", "grammars", folders)
    if lark is None:
        missing.append("lark")
    else:
        found += [Language("lark lark", "lark", lark / "lark.lark")]
        found += [Language("lark python", "python", lark / "python.lark", more="start: file_input\n")]
    return found, missing


def _package(name: str, inside: str, folders: Iterable[Path]) -> Path | None:
    """A folder of an installed package, which is not imported, or of a source distribution."""
    spec = importlib.util.find_spec(name)
    places = [Path(place) for place in (spec.submodule_search_locations or ()) if spec] if spec else []
    for folder in folders:
        places += sorted(folder.glob(f"{name}-*/{name}")) + sorted(folder.glob(name))
    return next((place / inside for place in places if (place / inside).is_dir()), None)


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_contenders(parser, DEFAULT_CONTENDERS)
    options.add_vocabulary(parser, "synthetic:128256")
    parser.add_argument("--language", action="append", help="by name; repeatable (default: all)")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="folder with further files; repeatable")
    parser.add_argument("--size", type=int, default=25_000, help="characters of sentences a language (default: 25000)")
    parser.add_argument("--judge", type=float, default=60, help="seconds of Lark for a language (default: 60)")
    parser.add_argument("--verdicts", type=Path, metavar="FILE", help="keeps what Lark said from run to run")


def run(arguments: argparse.Namespace) -> Report:
    absent = [name for name in ("lark", "regex") if importlib.util.find_spec(name) is None]
    if absent:
        print(f"languages: not run: {', '.join(absent)} not installed", file=sys.stderr)
        return Report("languages", {"not installed": ", ".join(absent)}, [], {"outcomes": [], "samples": {}})
    chosen, missing = languages(arguments.texts)
    chosen = [language for language in chosen if not arguments.language or language.name in arguments.language]
    known = json.loads(arguments.verdicts.read_text()) if arguments.verdicts and arguments.verdicts.exists() else {}
    samples = {}
    for language in chosen:
        of_grammar = known.setdefault(hashlib.sha256(language.grammar().encode()).hexdigest(), {})
        samples[language.name] = sample(language, arguments, of_grammar)
        if arguments.verdicts:
            arguments.verdicts.write_text(json.dumps(known))
    outcomes: list[Outcome] = []
    for vocabulary in options.chosen_vocabularies(arguments):
        outcomes += run_vocabulary(vocabulary, chosen, samples, arguments)
    settings = {
        "size": arguments.size,
        "seconds": arguments.seconds,
        "core": arguments.core,
        "not installed": ", ".join(missing) or "none",
    }
    tables = []
    for name in dict.fromkeys(outcome.vocabulary for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.vocabulary == name]
        tables += [files(name, mine, samples), latencies(name, mine), verdicts(name, mine, samples)]
        tables.append(differences(name, mine, samples))
    report = Report("languages", settings, tables, figures(outcomes, samples))
    report.faults = faults(outcomes, samples)
    return report


def sample(language: Language, arguments: argparse.Namespace, known: dict[str, bool | None]) -> Sample:
    """Units until their sentences have the wanted size, three times as much was tried or Lark's time is up; then as
    many of them damaged, in half of that time."""
    print(f"languages: {language.name}: asking Lark", file=sys.stderr)
    result = Sample()
    grammar = adapted.without_complements(language.path.stem, language.grammar())
    try:
        adapted.flat(grammar, language.path.parent)
        reference = Reference(grammar, str(language.path.parent), known)
    except Exception as error:  # of Lark's many kinds
        print(f"languages: {language.name}: Lark: {error}", file=sys.stderr)
        return result
    until = time.monotonic() + arguments.judge
    tried = taken = 0
    for unit in texts.units(language.kind, texts.folders([*arguments.texts, GRAMMARS])):
        text = language.before + unit + language.after
        verdict = reference.verdict(text)
        if verdict is not None:
            result.real.append(text)
            result.verdicts[text] = verdict
            taken += len(text) if verdict else 0
        tried += len(text)
        if taken >= arguments.size or tried >= 3 * arguments.size or time.monotonic() > until:
            break
    source = random.Random(language.name)
    until = time.monotonic() + arguments.judge / 2
    for text in [text for text in result.real if result.verdicts[text]]:
        broken = texts.damaged(text, source)
        verdict = reference.verdict(broken) if broken not in result.verdicts else None
        if verdict is not None:
            result.damaged.append(broken)
            result.verdicts[broken] = verdict
        if time.monotonic() > until:
            break
    reference.close()
    return result


def run_vocabulary(
    vocabulary: str, chosen: list[Language], samples: dict[str, Sample], arguments: argparse.Namespace
) -> list[Outcome]:
    tokens = vocabularies.load(vocabulary)
    cut = vocabularies.tokenizer(tokens)
    workers, missing = start_all(
        options.chosen_contenders(arguments), vocabulary, seconds=arguments.seconds, core=arguments.core
    )
    outcomes: list[Outcome] = []
    try:
        for language in chosen:
            print(f"languages: {tokens.name}: {language.name}", file=sys.stderr)
            known = {text: cut(text.encode()) for text in samples[language.name].verdicts}
            for worker in workers:
                outcome = Outcome(tokens.name, language.name, worker.name)
                try:
                    measure(worker, language, samples[language.name], known, outcome, tokens.tokens)
                except Failed as failed:
                    outcome.error = " ".join(str(failed).split())
                outcomes.append(outcome)
    finally:
        for worker in workers:
            worker.close()
    outcomes += [Outcome(tokens.name, "", name, error=why) for name, why in missing.items()]
    return outcomes


def measure(
    worker: Worker,
    language: Language,
    drawn: Sample,
    known: dict[str, list[int]],
    outcome: Outcome,
    tokens: Sequence[bytes],
) -> None:
    grammar = language.grammar()
    outcome.form = "as it is"
    if worker.name in NO_REQUIRED_BLANKS and drawn.real:
        lark_form = adapted.without_complements(language.path.stem, grammar)
        free = adapted.flat(lark_form, language.path.parent, blanks=False)
        if free != adapted.flat(lark_form, language.path.parent):
            outcome.form, grammar = "plain, blanks free", free
    try:
        compiled = worker.compile({"lark": grammar}, fresh=True)
    except Failed:
        if worker.name in contenders.OURS or not drawn.real or outcome.form != "as it is":
            raise
        plain = adapted.flat(adapted.without_complements(language.path.stem, grammar), language.path.parent)
        outcome.form = "plain"
        compiled = worker.compile({"lark": plain}, fresh=True)
    outcome.compile_ms, outcome.first_mask_ms = compiled.compile_ns / 1e6, compiled.first_mask_ns / 1e6
    for text, (accepted, taken) in zip(known, worker.verdicts(list(known.values())), strict=False):
        outcome.verdicts[text] = accepted, sum(len(tokens[token]) for token in known[text][:taken])
    outcome.timed = worker.run([known[text] for text in drawn.real if drawn.verdicts[text]])


def files(vocabulary: str, outcomes: list[Outcome], samples: dict[str, Sample]) -> Table:
    """Who reads which file, and for each a text that is a sentence and one that is not."""
    names = list(dict.fromkeys(o.contender for o in outcomes if o.language))
    columns = ["file", *(f"{name}: compile, ms" for name in names), "a sentence", "none"]
    table = Table(f"{vocabulary}: the files, and how long they take to compile without a mask.", columns)
    for language in dict.fromkeys(o.language for o in outcomes if o.language):
        cells = {}
        for o in outcomes:
            if o.language == language:
                form = "" if o.form == "as it is" else f" ({o.form})"
                cells[o.contender] = _reason(o.error) if o.error else f"{o.compile_ms:.3g}{form}"
        good, bad = (
            min((text for text, said in samples[language].verdicts.items() if said == kind), key=len, default="")
            for kind in (True, False)
        )
        table.rows.append([language, *(cells.get(name, "") for name in names), *map(_quoted, (good, bad))])
    return table


def _reason(error: str) -> str:
    """An error in one line, without the engine's picture of the place."""
    return error.partition(": ")[2][:90] if ": " in error else error


def _quoted(text: str) -> str:
    return f"`{text[:40]!r}`" if text else ""


def latencies(vocabulary: str, outcomes: list[Outcome]) -> Table:
    columns = ["language", "contender", "file", "compile + first mask, ms", "tokens"]
    columns += [f"mask {POINTS[0]}", *POINTS[1:], f"commit {POINTS[0]}", *POINTS[1:]]
    table = Table(f"{vocabulary}: first pass over the sentences, microseconds.", columns)
    for o in outcomes:
        row: list[Cell] = [o.language, o.contender, o.form]
        if o.error or not o.timed.masks:
            table.rows.append([*row, _reason(o.error) or "no token taken", *[""] * (len(columns) - 4)])
            continue
        masks, commits = percentiles(o.timed.masks), percentiles(o.timed.commits)
        late = "" if o.timed.complete else " (time was up)"
        row += [o.first_mask_ms, f"{len(o.timed.masks):,}{late}"]
        table.rows.append([*row, *(masks[point] for point in POINTS), *(commits[point] for point in POINTS)])
    return table


def verdicts(vocabulary: str, outcomes: list[Outcome], samples: dict[str, Sample]) -> Table:
    columns = ["language", "contender", "texts", "of them sentences", "KB", "differing", "damaged", "sentences"]
    table = Table(
        f"{vocabulary}: real texts and damaged ones, and the verdicts that are not those of Lark's Earley parser.",
        [*columns, "differing"],
    )
    for o in outcomes:
        drawn = samples.get(o.language)
        if drawn is None or not o.verdicts:
            continue
        row: list[Cell] = [o.language, o.contender]
        for kind in (drawn.real, drawn.damaged):
            judged = [text for text in kind if text in o.verdicts]
            good = [text for text in judged if drawn.verdicts[text]]
            row += [len(judged), len(good)]
            if kind is drawn.real:
                row.append(sum(map(len, good)) / 1000)
            row.append(sum(o.verdicts[text][0] != drawn.verdicts[text] for text in judged))
        table.rows.append(row)
    return table


def differences(vocabulary: str, outcomes: list[Outcome], samples: dict[str, Sample]) -> Table:
    """The shortest text of each direction, shown around the place where it was given up."""
    table = Table(
        f"{vocabulary}: where verdicts differ, with the shortest text; ▸ is where the text was given up.",
        ["language", "contender", "says", "texts", "shortest"],
    )
    for o in outcomes:
        for said in (True, False):
            different = [
                text for text, (accepted, _) in o.verdicts.items()
                if accepted == said != samples[o.language].verdicts[text]
            ]  # fmt: skip
            if different:
                text = min(different, key=len)
                data = text.encode()
                at = o.verdicts[text][1]
                shown = (
                    data[max(0, at - 50) : at].decode(errors="replace")
                    + "▸"
                    + data[at : at + 20].decode(errors="replace")
                )
                table.rows.append([o.language, o.contender, "yes" if said else "no", len(different), f"`{shown!r}`"])
    return table


def figures(outcomes: list[Outcome], samples: dict[str, Sample]) -> dict[str, object]:
    made = []
    for o in outcomes:
        different = [
            {"text": text, "accepted": accepted, "bytes taken": taken}
            for text, (accepted, taken) in o.verdicts.items()
            if accepted != samples[o.language].verdicts[text]
        ]
        made.append({key: value for key, value in vars(o).items() if key not in ("timed", "verdicts")})
        made[-1] |= {"masks": o.timed.masks, "commits": o.timed.commits, "differing": different}
    drawn = {
        name: {
            "sentences": len([t for t in one.real if one.verdicts[t]]),
            "shortest": min((t for t in one.real if one.verdicts[t]), key=len, default=""),
            "shortest refused": min((t for t in one.verdicts if not one.verdicts[t]), key=len, default=""),
        }
        for name, one in samples.items()
    }
    return {"outcomes": made, "samples": drawn}


def faults(outcomes: list[Outcome], samples: dict[str, Sample]) -> list[str]:
    """What we are to take and do not: a file, except one that counts indentation, and a sentence."""
    found = []
    for o in outcomes:
        if o.contender not in contenders.OURS or o.language.endswith(" python"):
            continue
        if o.error:
            found.append(f"{o.vocabulary}, {o.language}, {o.contender}: {o.error}")
        wrong = sum(accepted != samples[o.language].verdicts[text] for text, (accepted, _) in o.verdicts.items())
        if wrong:
            found.append(f"{o.vocabulary}, {o.language}, {o.contender}: {wrong} verdicts are not Lark's")
    return found


def plot(report: Report, path: Path) -> None:
    """The tails of the first passes, a panel a vocabulary. Needs matplotlib."""
    panels: plots.Panels = {}
    for entry in report.figures["outcomes"]:
        times = panels.setdefault(entry["vocabulary"], {}).setdefault(entry["contender"], [])
        times += [m + c for m, c in zip(entry["masks"], entry["commits"], strict=True)]
    plots.tails(panels, path)
