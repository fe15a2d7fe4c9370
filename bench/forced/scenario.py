"""Tokens a second on twenty schema-shaped grammars: the model alone, under llama.cpp's grammar, and under ours with and
without forced tokens, in turns on one loaded model.

Counted from the first evaluation after the prompt's on. The model alone writes as many tokens as ours did. Without
forcing a text has more tokens, so the time that a text takes is compared with llama.cpp's grammar too. The texts
with and without forcing are compared: how many are equal, how many tokens they have, and, with --samples, how often
each of a few values comes.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import glrsampler as glr
import llama_cpp

from .. import options
from ..figures import Cell, Report, Table
from . import task

DESCRIPTION: Final = "what forced tokens gain on schema-shaped grammars"
SETTINGS: Final[dict[str, Any]] = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
# The model's own distribution: cut-offs would hide rare values.
DISTRIBUTION: Final[dict[str, Any]] = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
LIMIT: Final = 160
OURS: Final = "glrsampler"
LLAMA: Final = "llama.cpp's grammar"

# Writes one text; returns its tokens and the seconds they took.
Run = Callable[[task.Task, int], tuple[int, float, str]]


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_vocabulary(parser, "demo")
    parser.add_argument("--rounds", type=int, default=3, help="with a seed of its own each (default: 3)")
    parser.add_argument("--grammars", type=int, default=20, help="the first so many (default: all 20)")
    parser.add_argument("--threads", type=int, default=2, help="of llama.cpp (default: 2)")
    parser.add_argument("--samples", type=int, default=0, help="texts a choice, with and without forcing (default: 0)")


def run(arguments: argparse.Namespace) -> Report:
    speed = Table(
        "Tokens a second over all grammars, median over the rounds, and of the ratio within a round.",
        [
            "model",
            "contender",
            "tokens/s",
            "of unconstrained",
            "of llama.cpp's grammar",
            "texts/s of it",
            "tokens of a text",
            "forced",
        ],
    )
    texts = Table(
        "The texts with and without forcing, one of each for every grammar and seed.",
        ["model", "texts", "equal", "tokens with", "tokens without"],
    )
    values = Table(
        "How often each value comes with and without forcing, in percent, and the total variation distance; beside it "
        "what two samples of one distribution of this size differ by.",
        ["model", "text", "with", "without", "distance", "by chance"],
    )
    report = Report("forced", {"threads": arguments.threads, "rounds": arguments.rounds}, [speed, texts, values], {})
    for path in options.chosen_vocabularies(arguments):
        threads = arguments.threads
        llm = glr.Llama(model_path=path, n_ctx=1024, n_threads=threads, n_threads_batch=threads, verbose=False)
        measured = measure(llm, task.tasks()[: arguments.grammars], arguments.rounds)
        report.figures[path.rsplit("/", 1)[-1]] = measured.speeds
        speed.rows += measured.speed_rows(path.rsplit("/", 1)[-1])
        texts.rows.append([path.rsplit("/", 1)[-1], *measured.text_row()])
        if arguments.samples:
            values.rows += [[path.rsplit("/", 1)[-1], *row] for row in value_rows(llm, arguments.samples)]
    return report


class Measured:
    """Tokens a second by contender and round, and the texts."""

    def __init__(self) -> None:
        self.speeds: dict[str, list[float]] = {}
        self.seconds: dict[str, list[float]] = {}
        self.lengths: dict[str, list[int]] = {}
        self.texts: dict[str, list[str]] = {}
        self.forced = 0

    def speed_rows(self, model: str) -> list[list[Cell]]:
        rows: list[list[Cell]] = []
        for name, values in self.speeds.items():
            ratios = [
                statistics.median(a / b for a, b in zip(values, self.speeds[base], strict=True))
                for base in ("unconstrained", LLAMA)
            ]
            theirs = self.seconds[LLAMA]
            faster = statistics.median(b / a for a, b in zip(self.seconds[name], theirs, strict=True))
            share = self.forced / sum(self.lengths[name]) if name == OURS else 0.0
            length = statistics.mean(self.lengths[name])
            rows.append([model, name, statistics.median(values), *ratios, faster, length, share])
        return rows

    def text_row(self) -> list[Cell]:
        ours, plain = self.texts[OURS], self.texts[f"{OURS}, nothing forced"]
        equal = sum(a == b for a, b in zip(ours, plain, strict=True))
        lengths = [statistics.mean(self.lengths[name]) for name in (OURS, f"{OURS}, nothing forced")]
        return [len(ours), equal, *lengths]


def measure(llm: glr.Llama, tasks: list[task.Task], rounds: int) -> Measured:
    vocabulary = glr.Vocabulary.from_llama(llm)
    constraints = {t.name: glr.Grammar.from_gbnf(t.gbnf).compile(vocabulary) for t in tasks}
    measured = Measured()
    length = dict.fromkeys(constraints, LIMIT)

    def ours(forced: bool) -> Run:
        def write(t: task.Task, seed: int) -> tuple[int, float, str]:
            sampler = glr.Sampler(constraints[t.name], seed=seed, forced_tokens=forced, **SETTINGS)
            began = time.perf_counter()
            result = glr.generate(llm, t.prompt(), sampler, max_tokens=LIMIT)
            seconds = time.perf_counter() - began
            if forced:
                length[t.name] = len(result.tokens)
                measured.forced += result.evidence["forced"]
            return len(result.tokens), seconds, result.text

        return write

    def llama(constrained: bool) -> Run:
        def write(t: task.Task, seed: int) -> tuple[int, float, str]:
            grammar = llama_cpp.LlamaGrammar.from_string(t.gbnf, verbose=False) if constrained else None
            ids = llm.tokenize(t.prompt().encode(), special=True)
            llm.set_seed(seed)
            limit = LIMIT if constrained else length[t.name]
            count = 0
            began = time.perf_counter()
            settings = {"temp" if name == "temperature" else name: value for name, value in SETTINGS.items()}
            for token in llm.generate(ids, grammar=grammar, **settings):
                ended = llama_cpp.llama_vocab_is_eog(llm._model.vocab, token)
                if ended and constrained:
                    break
                count += 1
                if count == limit:
                    break
            return count, time.perf_counter() - began, ""

        return write

    contenders = {
        OURS: ours(True),
        f"{OURS}, nothing forced": ours(False),
        "unconstrained": llama(False),
        LLAMA: llama(True),
    }
    for name in contenders:
        measured.speeds[name], measured.lengths[name], measured.texts[name] = [], [], []
        measured.seconds[name] = []
    for seed in range(rounds):
        counts, seconds = dict.fromkeys(contenders, 0), dict.fromkeys(contenders, 0.0)
        for t in tasks:
            print(f"forced: round {seed + 1}: {t.name}", file=sys.stderr)
            llm.reset()
            llm.eval(llm.tokenize(t.prompt().encode(), special=True)[:-1])  # each finds the prompt read
            for name, write in contenders.items():
                count, took, text = write(t, seed)
                counts[name] += count
                seconds[name] += took
                measured.lengths[name].append(count)
                measured.texts[name].append(text)
        for name in contenders:
            measured.speeds[name].append(counts[name] / seconds[name])
            measured.seconds[name].append(seconds[name])
    return measured


def value_rows(llm: glr.Llama, samples: int) -> list[list[Cell]]:
    """Of each text that differs in one value: what came how often."""
    vocabulary = glr.Vocabulary.from_llama(llm)
    rows: list[list[Cell]] = []
    for t in task.choices():
        print(f"forced: values: {t.name}", file=sys.stderr)
        constraint = glr.Grammar.from_gbnf(t.gbnf).compile(vocabulary)

        def count(forced: bool, t: task.Task = t, constraint: glr.Constraint = constraint) -> Counter[str]:
            """Seeds differ: with the same ones the two would hang together."""
            seeds = range(samples) if forced else range(samples, 2 * samples)
            found: Counter[str] = Counter()
            for seed in seeds:
                sampler = glr.Sampler(constraint, seed=seed, forced_tokens=forced, **DISTRIBUTION)
                value = json.loads(glr.generate(llm, t.prompt(), sampler).text)
                found[json.dumps(list(value.values())[-1])] += 1
            return found

        ours, plain = count(True), count(False)
        names = sorted(ours | plain)
        distance = sum(abs(ours[name] - plain[name]) for name in names) / 2 / samples
        rows.append(
            [t.name, _percent(ours, names), _percent(plain, names), distance, _by_chance(ours + plain, samples)]
        )
    return rows


def _percent(counts: Counter[str], names: list[str]) -> str:
    return ", ".join(f"{name} {100 * counts[name] / counts.total():.0f}" for name in names)


def _by_chance(counts: Counter[str], samples: int) -> float:
    """The mean distance of two samples from the distribution of both."""
    rng = random.Random(1)
    pool = list(counts.elements())
    distances = []
    for _ in range(200):
        a, b = (Counter(rng.choices(pool, k=samples)) for _ in range(2))
        distances.append(sum(abs(a[name] - b[name]) for name in counts) / 2 / samples)
    return statistics.mean(distances)
