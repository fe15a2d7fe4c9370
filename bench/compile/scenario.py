"""Compile times of a large generated grammar, and of the vocabulary's trie.

`compile` is from the grammar's text to a constraint, with the vocabulary prepared; `first mask` has the first mask too.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from typing import Final

from .. import contenders, options, vocabularies
from ..figures import Report, Table
from ..worker import Compiled, Failed, start_all

DESCRIPTION: Final = "compile of 200 generated rules; the trie of a vocabulary"
DEFAULT_CONTENDERS: Final = ("glrsampler", "glrsampler eager", "llguidance", "glrmask", "xgrammar", "llama.cpp")


def add_options(parser: argparse.ArgumentParser) -> None:
    options.add_contenders(parser, DEFAULT_CONTENDERS)
    options.add_vocabulary(parser, "synthetic:128256")
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5, help="the median is shown (default: 5)")


def grammar(rules: int, seed: int = 3) -> dict[str, str]:
    """`rules` rules of keywords, classes and references, most to later rules and some, in brackets, to earlier ones;
    each has two to four alternatives. The same language in GBNF and in Lark."""
    source = random.Random(seed)
    keywords = [f"{''.join(source.choices('abcdefghijklmnoprstuvw', k=source.randint(2, 7)))}" for _ in range(rules)]
    classes = ["[0-9]+", "[a-z]+", "[A-Z] [a-z]*", "[0-9a-f]{4}"]
    written: dict[str, list[str]] = {"gbnf": [], "lark": []}
    for rule in range(rules):
        alternatives: dict[str, list[str]] = {"gbnf": [], "lark": []}
        for number in range(source.randint(2, 4)):
            # The first word tells alternatives apart, as it does in most languages.
            parts = {form: [f'"{keywords[rule]}{number} "'] for form in written}
            for _ in range(source.randint(1, 3)):
                kind = source.random()
                if kind < 0.45 and rule + 1 < rules:
                    name = f"r{source.randrange(rule + 1, min(rule + 12, rules))}"
                    suffix = source.choice(["", "", "?", "*"])
                    found = dict.fromkeys(written, f'{name}{suffix} ";"')
                elif kind < 0.6:
                    found = dict.fromkeys(written, f'"(" r{source.randrange(rule + 1)} ")"')
                else:
                    chosen = source.choice(classes)
                    found = {"gbnf": f'{chosen} " "', "lark": f'/{chosen.replace(" ", "")}/ " "'}
                for form, part in found.items():
                    parts[form].append(part)
            for form, part_list in parts.items():
                alternatives[form].append(" ".join(part_list))
        for form, sign in (("gbnf", "::="), ("lark", ":")):
            written[form].append(f"r{rule} {sign} " + " | ".join(alternatives[form]))
    return {"gbnf": "\n".join(["root ::= r0", *written["gbnf"]]), "lark": "\n".join(["start: r0", *written["lark"]])}


def run(arguments: argparse.Namespace) -> Report:
    columns = ["vocabulary", "contender", "compile, ms", "compile + first mask, ms", "again, same vocabulary"]
    table = Table(f"{arguments.rules} rules: median of {arguments.rounds}.", columns)
    tries = Table("A vocabulary from the bytes of its tokens, trie and all.", ["vocabulary", "tokens", "ms"])
    report = Report("compile", {"rules": arguments.rules, "rounds": arguments.rounds}, [table, tries])
    made = grammar(arguments.rules)
    for vocabulary in options.chosen_vocabularies(arguments):
        tokens = vocabularies.load(vocabulary)
        tries.rows.append([tokens.name, len(tokens.tokens), build_time(tokens, arguments.rounds)])
        workers, missing = start_all(
            options.chosen_contenders(arguments), vocabulary, seconds=arguments.seconds, core=arguments.core
        )
        new: dict[str, list[Compiled]] = {worker.name: [] for worker in workers}
        again: dict[str, list[Compiled]] = {worker.name: [] for worker in workers}
        errors: dict[str, str] = {}
        for _ in range(arguments.rounds):
            for worker in workers:
                if worker.name in errors:
                    continue
                try:
                    new[worker.name].append(worker.compile(made, fresh=True))
                    again[worker.name].append(worker.compile(made, fresh=False))
                except Failed as failed:
                    errors[worker.name] = str(failed)
        for worker in workers:
            worker.close()
            if worker.name in errors:
                table.rows.append([tokens.name, worker.name, errors[worker.name], "", ""])
                if worker.name in contenders.OURS:
                    report.faults.append(f"{worker.name}: {errors[worker.name]}")
                continue
            medians = (
                statistics.median(c.compile_ns for c in new[worker.name]) / 1e6,
                statistics.median(c.first_mask_ns for c in new[worker.name]) / 1e6,
                statistics.median(c.first_mask_ns for c in again[worker.name]) / 1e6,
            )
            table.rows.append([tokens.name, worker.name, *medians])
        table.rows += options.missing_rows(missing, len(columns))
    return report


def build_time(tokens: vocabularies.Tokens, rounds: int) -> float:
    """Milliseconds of `Vocabulary.from_tokens`."""
    import glrsampler as glr

    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        glr.Vocabulary.from_tokens(tokens.tokens, tokens.ends, tokens.special)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3
