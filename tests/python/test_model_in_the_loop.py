"""What the demo model writes under a grammar is a sentence of it, as the oracle's recogniser sees it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import glrsampler as glr
import pytest
from oracle.earley import Recogniser
from oracle.gbnf import parse

GRAMMARS = Path(__file__).parents[2] / "grammars"
SEEDS = 20
MAX_TOKENS = 40
# The grammar; a prompt; whether some of the texts end within MAX_TOKENS, and whether some do not.
CASES = {
    "json": ("A JSON document:\n", False, True),
    "c_subset": ("A program in C:\n", False, True),
    "sql_select": ("A query in SQL:\n", True, True),
    "yes_no_reason": ("Is the sky blue?\n", True, True),
    "japanese": ("日本語の文:\n", False, True),  # its code points are cut into several tokens
}


@cache
def recogniser(name: str) -> Recogniser:
    return Recogniser(parse((GRAMMARS / f"{name}.gbnf").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", CASES)
def test_texts_are_sentences(name: str, llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    """A sentence when the generation is complete, a prefix of one when it ran into the token limit."""
    prompt, some_end, some_do_not = CASES[name]
    constraint = glr.Grammar.from_file(str(GRAMMARS / f"{name}.gbnf")).compile(vocabulary)
    statuses: Counter[str] = Counter()
    for seed in range(SEEDS):
        result = glr.generate(llm, prompt, glr.Sampler(constraint, seed=seed), max_tokens=MAX_TOKENS)
        data = result.text.encode() + result.pending
        said = (seed, result)
        assert data == b"".join(map(vocabulary.token_bytes, result.tokens)), said
        end = recogniser(name).read(data)
        assert end.viable, said
        assert result.complete == end.accepting, said
        assert result.status == ("length" if result.reason == "max_tokens" else "complete"), said
        assert (result.status == "length") == (len(result.tokens) == MAX_TOKENS) or result.complete, said
        if result.status == "complete":
            assert end.accepting, said
            assert not result.pending, said
        if result.reason == "grammar_end":
            assert not end.next_bytes(), said
        statuses[result.status] += 1
    assert not some_end or statuses["complete"], statuses
    assert not some_do_not or statuses["length"], statuses


def test_other_settings_same_promise(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    """Hot, greedy and penalised sampling cannot leave the grammar either."""
    constraint = glr.Grammar.from_file(str(GRAMMARS / "json.gbnf")).compile(vocabulary)
    samplers = [
        glr.Sampler(constraint, seed=1, temperature=50.0, top_k=0, top_p=1.0, min_p=0.0),
        glr.Sampler(constraint, seed=1, temperature=0.0),
        glr.Sampler(constraint, seed=1, repeat_penalty=3.0, frequency_penalty=2.0, presence_penalty=2.0),
    ]
    for sampler in samplers:
        result = glr.generate(llm, "A JSON document:\n", sampler, max_tokens=MAX_TOKENS)
        end = recogniser("json").read(result.text.encode() + result.pending)
        assert end.viable, result
        assert end.accepting == result.complete, result
