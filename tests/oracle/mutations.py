"""Grammars damaged at random, and what must hold for them: an error that names a place, or a grammar that works.

Run as a program it takes a range of seeds and prints each before it tries it, so that whoever started it knows
which one crashed or hung:  python mutations.py 0 1000
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import glrsampler as glr

from oracle.gbnf import GbnfError, parse
from oracle.random_grammars import random_case

GRAMMARS = sorted((Path(__file__).parents[2] / "grammars").glob("*.gbnf"))
PIECES = [
    *'"[]()|*+?{}<>!.^-\\#\n\t ,:=0aé\x00\x7f\ufffd🎉',
    *("\\x", "\\u12", "\\U00110000", "\\uD800", "{3,1}", "{,}", "{2}", "{0,99999}", "{99999999999}"),
    *("[^", "z-a", "[]", '""', "()", "((", "))", "<a>", "<[0]>", "!<[0]>", "<[9999999999]>"),
    *("::=", "root", "root ::= ", "| |", "\r\n"),
]


def mutated(rng: Random) -> str:
    """A good grammar with one to four places damaged."""
    if rng.random() < 0.6:
        text = rng.choice(GRAMMARS).read_text(encoding="utf-8")
    else:
        text = random_case(rng.randrange(10**9)).grammar
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((1, 1, 1, 3, 10, 40)))
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind == 2:
            text = text[:at] + rng.choice(PIECES) + text[end:]
        elif kind == 3:
            text = text[:at] + text[at:end] * 2 + text[end:]
        elif kind == 4:
            other = rng.randrange(len(text) + 1)
            text = text[:at] + text[other : other + rng.randrange(30)] + text[at:]
        else:
            text = text[: rng.choice((at, len(text)))]
    return text


def is_grammar(text: str) -> bool:
    """By the reader of tests/oracle: the text is one, whether or not it has a sentence."""
    try:
        parse(text)
    except GbnfError:
        return False
    return True


VOCABULARY = glr.Vocabulary.from_tokens(
    [bytes((b,)) for b in range(256)] + [b"ab", b"\n\n", b'"a', b'": ', b"\xe6\x97", b"", b""],
    end_tokens=[262],
    special_tokens={261: "<a>"},
)


def read(text: str) -> tuple[glr.Grammar | None, glr.GrammarError | None]:
    try:
        return glr.Grammar.from_gbnf(text), None
    except glr.GrammarError as error:
        return None, error


def check(text: str, rng: Random) -> str:
    """Reads, compiles and walks; returns what became of it. AssertionError when something is not as it must be."""
    grammar, error = read(text)
    if error is not None:
        assert error.line >= 1, error
        assert error.column >= 1, error
        assert "no finite text" in str(error) or not is_grammar(text), f"refused a grammar: {error}"
        return "refused"
    assert grammar is not None
    assert is_grammar(text), "took what is no grammar"
    try:
        constraint = grammar.compile(VOCABULARY)
        matcher = constraint.matcher()
        for _ in range(6):
            allowed = matcher.allowed_tokens()
            assert len(allowed) or "<" in text, "nothing is allowed and the text is not complete"
            text_tokens = [int(t) for t in allowed if t < 261]
            if not text_tokens:
                break
            matcher.commit(rng.choice(text_tokens))
    except glr.GrammarError:
        if "<" not in text:  # only a token literal depends on the vocabulary
            raise
        return "refused for the vocabulary"
    except glr.BudgetError:
        return "over budget"
    return "works"


def main(first: int, last: int) -> None:
    outcomes: dict[str, int] = {}
    for seed in range(first, last):
        print(seed, flush=True)
        rng = Random(f"mutation {seed}")
        text = mutated(rng)
        try:
            outcome = check(text, rng)
        except BaseException:
            print(f"seed {seed}:\n{text!r}", file=sys.stderr)
            raise
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(outcomes)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
