"""Same model, prompt, grammar, settings and seed: the same tokens by every way, and those of tests/data/golden.

The recorded seeds are ones whose choices do not hang on the last bits of the logits, which differ from processor to
processor: every step chose the same token under noise of 0.05. `python tests/python/test_replay.py` records anew.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import glrsampler as glr
import numpy as np
import pytest
from glrsampler import _abi
from glrsampler.decoding import Decoding

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "data" / "golden" / "replay.json"
CASES = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
LIMIT = 32


def sampler_of(case: dict[str, Any], vocabulary: glr.Vocabulary, mode: Any = "lazy", **other: Any) -> glr.Sampler:
    constraint = glr.Grammar.from_gbnf(case["grammar"]).compile(vocabulary, mode)
    return glr.Sampler(constraint, **{**case["settings"], "seed": case["seed"], **other})


def by_hand(llm: glr.Llama, case: dict[str, Any], sampler: glr.Sampler) -> list[int]:
    """The public parts: sample() on a row of logits, accept()."""
    decoding = Decoding(llm, sampler, llm.tokenize(case["prompt"].encode(), special=True))
    tokens: list[int] = []
    while len(tokens) < LIMIT and not decoding.only_end_allowed():
        forced = decoding.forced()
        if not forced:
            decoding.evaluate()
            forced = [sampler.sample(decoding.logits())]
            if forced[0] in decoding.ends:
                break
        for token in forced[: LIMIT - len(tokens)]:
            decoding.append(token)
            tokens.append(token)
    return tokens


def through_the_chain(llm: glr.Llama, case: dict[str, Any], sampler: glr.Sampler) -> list[int]:
    """As a link of llama.cpp's chain, which fills its candidate array and asks the link."""
    lib = _abi.llama_cpp()
    follows = sampler.restarted()
    decoding = Decoding(llm, follows, llm.tokenize(case["prompt"].encode(), special=True))
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    link = _abi.chain_sampler(sampler, "full")
    lib.llama_sampler_chain_add(chain, ctypes.cast(link.release(), lib.llama_sampler_p_ctypes))
    tokens: list[int] = []
    try:
        while len(tokens) < LIMIT and not decoding.only_end_allowed():
            decoding.evaluate()
            token = lib.llama_sampler_sample(chain, llm.ctx, -1)
            if token in decoding.ends:
                break
            decoding.append(token)
            tokens.append(token)
    finally:
        lib.llama_sampler_free(chain)
    return tokens


def from_methods(llm: glr.Llama, case: dict[str, Any], sampler: glr.Sampler, stream: bool) -> str:
    answer = llm.create_completion(case["prompt"], sampler=sampler, max_tokens=LIMIT, stream=stream)
    return "".join(piece["choices"][0]["text"] for piece in (answer if stream else [answer]))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_way_gives_the_recorded_tokens(llm: glr.Llama, vocabulary: glr.Vocabulary, case: dict[str, Any]) -> None:
    sampler = sampler_of(case, vocabulary)
    result = glr.generate(llm, case["prompt"], sampler, max_tokens=LIMIT)
    assert list(result.tokens) == case["tokens"]
    events = glr.stream(llm, case["prompt"], sampler, max_tokens=LIMIT)
    assert [token for event in events for token in event.tokens] == case["tokens"]
    assert by_hand(llm, case, sampler.restarted()) == case["tokens"]
    text = llm.detokenize(case["tokens"]).decode("utf-8", "ignore")
    assert from_methods(llm, case, sampler, False) == text
    assert from_methods(llm, case, sampler, True) == text
    for mode in ("eager", "background"):
        other = sampler_of(case, vocabulary, mode)
        assert list(glr.generate(llm, case["prompt"], other, max_tokens=LIMIT).tokens) == case["tokens"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_chain_gives_the_same_tokens(llm: glr.Llama, vocabulary: glr.Vocabulary, case: dict[str, Any]) -> None:
    sampler = sampler_of(case, vocabulary, forced_tokens=False)
    tokens = through_the_chain(llm, case, sampler)
    assert tokens == case["tokens_without_forcing"]
    assert list(glr.generate(llm, case["prompt"], sampler, max_tokens=LIMIT).tokens) == tokens


def test_cases_were_recorded() -> None:
    assert len(CASES) >= 6
    assert any(case["tokens"] != case["tokens_without_forcing"] for case in CASES)


def steady(llm: glr.Llama, case: dict[str, Any], sampler: glr.Sampler) -> list[int] | None:
    """The tokens when noise does not change them."""
    rng = np.random.default_rng(0)
    tokens = list(glr.generate(llm, case["prompt"], sampler, max_tokens=LIMIT).tokens)
    decoding = Decoding(llm, sampler.restarted(), llm.tokenize(case["prompt"].encode(), special=True))
    forced: list[int] = []
    for token in tokens:
        forced = forced or decoding.forced()
        if forced:
            forced.pop(0)
        else:
            decoding.evaluate()
            row = decoding.logits().copy()
            for _ in range(8):
                noise = rng.uniform(-0.05, 0.05, len(row)).astype(np.float32)
                if decoding.sampler.sample(row + noise) != token:
                    return None
        decoding.append(token)
    return tokens


def record() -> None:
    from glrsampler.cli import embedded_model

    llm = glr.Llama(model_path=str(embedded_model()), n_ctx=1024, n_threads=1, n_threads_batch=1, verbose=False)
    vocabulary = glr.Vocabulary.from_llama(llm)
    person = r'root ::= "{\"given_name\": \"" [A-Z] [a-z]{2,8} "\", \"age\": " [1-9] [0-9] "}"'
    kinds = {
        "greedy": {"temperature": 0.0},
        "standard": {},
        "penalties": {"temperature": 0.7, "repeat_penalty": 1.3, "frequency_penalty": 0.2, "presence_penalty": 0.1},
    }
    grammars = {"person": person, "choice": 'root ::= ("red" | "green" | "blue") (", " ("red" | "green" | "blue")){3}'}
    prompts = {"person": "Somebody as JSON: ", "choice": "My favourite colours: "}
    cases = []
    for grammar, text in grammars.items():
        for kind, settings in kinds.items():
            for seed in range(1000):
                case = {"name": f"{grammar}-{kind}", "prompt": prompts[grammar], "grammar": text, "settings": settings,
                        "seed": seed}  # fmt: skip
                tokens = steady(llm, case, sampler_of(case, vocabulary))
                plain = steady(llm, case, sampler_of(case, vocabulary, forced_tokens=False))
                if tokens and plain:
                    cases.append({**case, "tokens": tokens, "tokens_without_forcing": plain})
                    print(case["name"], seed, llm.detokenize(tokens), file=sys.stderr)
                    break
    FILE.write_text(json.dumps(cases, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
