"""Text from the demo model: glr.Llama, glr.generate, glr.stream."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import glrsampler as glr
import llama_cpp
import pytest

ANIMAL = r"""
root  ::= "{\"animal\": \"" name "\", \"legs\": " [0-9] "}"
name  ::= [a-z]{3,12}
"""
OPEN = r'root ::= "\"" [^"\\\x00-\x1F]{200,} "\""'
PROMPT = "A cat as JSON: "


@pytest.fixture(scope="module")
def animal(vocabulary: glr.Vocabulary) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(ANIMAL).compile(vocabulary), seed=11, temperature=1.0)


@pytest.fixture(scope="module")
def open_text(vocabulary: glr.Vocabulary) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(OPEN).compile(vocabulary), seed=11)


def content(answer: Any) -> str:
    return str(answer["choices"][0]["text"])


def is_animal(text: str) -> bool:
    value = json.loads(text)
    return set(value) == {"animal", "legs"} and isinstance(value["legs"], int)


def test_generate_is_complete_and_repeats(llm: glr.Llama, animal: glr.Sampler) -> None:
    first = glr.generate(llm, PROMPT, animal, max_tokens=60)
    second = glr.generate(llm, PROMPT, animal, max_tokens=60)
    assert first.status == "complete"
    assert first.reason == "grammar_end"
    assert first.complete
    assert is_animal(first.text)
    assert (first.text, first.tokens) == (second.text, second.tokens)


def test_every_way_gives_the_same_text(llm: glr.Llama, animal: glr.Sampler) -> None:
    text = glr.generate(llm, PROMPT, animal, max_tokens=60).text
    assert content(llm(PROMPT, sampler=animal, max_tokens=60)) == text
    assert content(llm.create_completion(PROMPT, sampler=animal, max_tokens=60)) == text
    pieces = llm.create_completion(PROMPT, sampler=animal, max_tokens=60, stream=True)
    assert "".join(map(content, pieces)) == text
    tokens = []
    for token in llm.generate(llm.tokenize(PROMPT.encode()), sampler=animal):
        if llama_cpp.llama_vocab_is_eog(llm._model.vocab, token):
            break
        tokens.append(token)
    assert llm.detokenize(tokens).decode() == text


def test_finish_reason_of_a_complete_text(llm: glr.Llama, animal: glr.Sampler) -> None:
    answer = llm.create_completion(PROMPT, sampler=animal, max_tokens=60)
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_a_seed_given_to_the_call(llm: glr.Llama, animal: glr.Sampler) -> None:
    texts = {content(llm(PROMPT, sampler=animal, max_tokens=60, seed=seed)) for seed in (1, 2, 3, 4, 5, 1)}
    assert 1 < len(texts) <= 5
    assert all(map(is_animal, texts))
    assert animal.seed == 11


def test_chat(llm: glr.Llama, animal: glr.Sampler) -> None:
    messages = [{"role": "user", "content": "A dog, please."}]
    answer = llm.create_chat_completion(messages, sampler=animal, max_tokens=60)
    text = answer["choices"][0]["message"]["content"]
    assert is_animal(text)
    pieces = llm.create_chat_completion(messages, sampler=animal, max_tokens=60, stream=True)
    assert "".join(piece["choices"][0]["delta"].get("content") or "" for piece in pieces) == text


@pytest.mark.parametrize(
    "conflict", [{"response_format": {"type": "json_object"}}, {"tool_choice": {"type": "function"}}]
)
def test_what_would_replace_the_grammar_is_refused(
    llm: glr.Llama, animal: glr.Sampler, conflict: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="sampler and"):
        llm.create_chat_completion([{"role": "user", "content": "x"}], sampler=animal, **conflict)
    with pytest.raises(ValueError, match="sampler and grammar"):
        llm(PROMPT, sampler=animal, grammar=llama_cpp.LlamaGrammar.from_string('root ::= "a"'))


def test_without_a_sampler_nothing_changes(llm: glr.Llama) -> None:
    answer = llm.create_completion("Once upon a time", max_tokens=5, temperature=0)
    assert answer["usage"]["completion_tokens"] == 5


def test_logit_bias_comes_first(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    grammar = glr.Grammar.from_gbnf('root ::= "yes" | "no"')
    sampler = glr.Sampler(grammar.compile(vocabulary), temperature=0.0)
    for word, other in (("yes", "no"), ("no", "yes")):
        bias = {
            token: -100.0 for token in range(len(vocabulary)) if vocabulary.token_bytes(token)[:1] == other[:1].encode()
        }
        assert content(llm("Yes or no? ", sampler=sampler, logit_bias=bias)) == word


def test_generators_in_turn(llm: glr.Llama, animal: glr.Sampler, vocabulary: glr.Vocabulary) -> None:
    # A seed that does not hang on the last bits of the logits: what another generator threw out of the cache is read
    # again in a larger batch.
    animal = animal.restarted(30)
    digits = glr.Sampler(glr.Grammar.from_gbnf('root ::= [0-9] ("-" [0-9]){3}').compile(vocabulary), seed=5)
    calls = [
        lambda: llm.create_completion(PROMPT, sampler=animal, max_tokens=60, stream=True),
        lambda: llm.create_completion("Count: ", sampler=digits, max_tokens=60, stream=True),
    ]
    alone = ["".join(map(content, call())) for call in calls]
    assert in_turn([map(content, call()) for call in calls]) == alone
    streams = [
        lambda: glr.stream(llm, PROMPT, animal, max_tokens=60),
        lambda: glr.stream(llm, "Count: ", digits, max_tokens=60),
    ]
    assert in_turn([(event.text for event in make()) for make in streams]) == alone


def in_turn(sources: list[Iterator[str]]) -> list[str]:
    texts = [""] * len(sources)
    running = set(range(len(sources)))
    while running:
        for index in sorted(running):
            piece = next(sources[index], None)
            if piece is None:
                running.remove(index)
            else:
                texts[index] += piece
    return texts


def test_a_plain_llama(model_path: Any, animal: glr.Sampler) -> None:
    plain = llama_cpp.Llama(model_path=str(model_path), n_ctx=512, n_threads=1, verbose=False)
    assert is_animal(glr.generate(plain, PROMPT, animal, max_tokens=60).text)


def test_events(llm: glr.Llama, animal: glr.Sampler) -> None:
    events = list(glr.stream(llm, PROMPT, animal, max_tokens=60))
    *pieces, last = events
    assert [event.status for event in pieces] == [None] * len(pieces)
    assert [event.complete for event in pieces] == [False] * (len(pieces) - 1) + [True]
    assert all(len(event.tokens) == 1 and (event.allowed > 0 or event.forced) for event in pieces)
    assert (last.status, last.reason, last.complete, last.pending) == ("complete", "grammar_end", True, b"")


def test_length_keeps_the_text_and_is_never_complete(llm: glr.Llama, open_text: glr.Sampler) -> None:
    result = glr.generate(llm, PROMPT, open_text, max_tokens=16)
    assert (result.status, result.reason, result.complete) == ("length", "max_tokens", False)
    assert len(result.tokens) == 16
    assert result.text.startswith('"')
    assert glr.generate(llm, PROMPT, open_text, max_tokens=0).text == ""


def test_context_full(model_path: Any, vocabulary: glr.Vocabulary) -> None:
    small = llama_cpp.Llama(model_path=str(model_path), n_ctx=64, n_threads=1, verbose=False)
    constraint = glr.Grammar.from_gbnf('root ::= "a"{300,}').compile(vocabulary)
    longer = [token for token in range(len(vocabulary)) if len(vocabulary.token_bytes(token)) > 1]
    sampler = glr.Sampler(constraint, seed=1, forbidden_tokens=longer)
    prompt = small.tokenize(b" word" * 64)
    result = glr.generate(small, prompt[: 64 - 8], sampler)
    assert (result.status, result.reason, result.text) == ("length", "context_full", "a" * 8)
    with pytest.raises(ValueError, match="context"):
        glr.generate(small, prompt, sampler)


def test_cancel_between_tokens(llm: glr.Llama, open_text: glr.Sampler) -> None:
    event = threading.Event()
    texts = []
    for step, piece in enumerate(glr.stream(llm, PROMPT, open_text, cancel=event)):
        texts.append(piece)
        if step == 4:
            event.set()
    assert (texts[-1].status, texts[-1].reason) == ("cancelled", "cancelled")
    assert len(texts) == 6
    assert glr.generate(llm, PROMPT, open_text, cancel=lambda: True).text == ""
    with pytest.raises(TypeError, match="cancel"):
        glr.generate(llm, PROMPT, open_text, cancel=3)  # type: ignore[arg-type]  # the error is what is tested


def test_stop_strings(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = glr.Sampler(glr.Grammar.from_gbnf('root ::= "abc" "def" "ghi"?').compile(vocabulary), temperature=0.0)
    cut = glr.generate(llm, PROMPT, sampler, stop="ef")
    assert (cut.text, cut.status, cut.reason, cut.complete) == ("abcd", "length", "stop_string", False)
    whole = glr.generate(llm, PROMPT, sampler, stop=["zz", "ghi"])
    assert (whole.text, whole.complete) == ("abcdef", True)
    never = glr.generate(llm, PROMPT, sampler, stop=["dex"])
    assert never.text in ("abcdef", "abcdefghi")


def test_dead_end_has_a_reason(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    ends = list(vocabulary.end_tokens)
    constraint = glr.Grammar.from_gbnf('root ::= "a"{1,5}').compile(vocabulary)
    only_a = [t for t in range(len(vocabulary)) if vocabulary.token_bytes(t)[:1] == b"a"]
    result = glr.generate(llm, PROMPT, glr.Sampler(constraint, forbidden_tokens=[*only_a, *ends]))
    assert (result.status, result.reason, result.text) == ("dead_end", "all_forbidden", "")


def test_text_comes_in_whole_code_points(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    text = "日本語🦊é"
    sampler = glr.Sampler(glr.Grammar.from_gbnf(f'root ::= "{text}"').compile(vocabulary), seed=1)
    events = list(glr.stream(llm, PROMPT, sampler))
    assert "".join(event.text for event in events) == text
    assert any(event.text == "" and event.tokens for event in events), "no token of this model ends inside a code point"
    cut = glr.generate(llm, PROMPT, sampler, max_tokens=1)
    assert text.encode().startswith(cut.text.encode() + cut.pending)


def test_evidence_holds_no_text(llm: glr.Llama, animal: glr.Sampler) -> None:
    result = glr.generate(llm, "secret-prompt-4711 ", animal, max_tokens=60)
    record = json.dumps(result.evidence)
    assert "4711" not in record
    assert result.text not in record
    assert "gguf" not in record.lower().replace(result.evidence["model"].lower(), "")
    assert result.evidence["status"] == "complete"
    assert result.evidence["seed"] == 11
    assert result.evidence["grammar"] == glr.Grammar.from_gbnf(ANIMAL).fingerprint
    assert len(result.evidence["allowed"]) == len(result.tokens)


def test_a_foreign_vocabulary_is_refused(llm: glr.Llama) -> None:
    big = glr.Vocabulary.from_tokens([b"a"] * (llm.n_vocab() + 1), [0])
    sampler = glr.Sampler(glr.Grammar.from_gbnf('root ::= "a"').compile(big))
    with pytest.raises(ValueError, match="vocabulary"):
        glr.generate(llm, PROMPT, sampler)


def test_prompt_prefix_is_read_once(llm: glr.Llama, animal: glr.Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    evaluate = llm.eval
    monkeypatch.setattr(llm, "eval", lambda tokens: (read.append(len(tokens)), evaluate(tokens))[1])
    sampled = glr.Sampler(animal.constraint, seed=11, forced_tokens=False)
    glr.generate(llm, "one two three four five " + PROMPT, sampled, max_tokens=1)
    first = read.copy()
    read.clear()
    glr.generate(llm, "one two three four five " + PROMPT, sampled, max_tokens=1)
    assert sum(read) == 1 < sum(first)
