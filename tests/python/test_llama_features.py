"""What llama-cpp-python offers goes on working with `sampler=`, or is refused with a reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import glrsampler as glr
import llama_cpp
import numpy as np
import pytest
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

ANIMAL = r'root ::= "{\"animal\": \"" [a-z]{3,12} "\", \"legs\": " [0-9] "}"'
PROMPT = "A cat as JSON: "
MESSAGES = [{"role": "user", "content": "A dog as JSON, please."}]


@pytest.fixture(scope="module")
def animal(vocabulary: glr.Vocabulary) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(ANIMAL).compile(vocabulary), seed=11)


@pytest.fixture(scope="module")
def all_logits(model_path: Path) -> glr.Llama:
    return glr.Llama(model_path=str(model_path), n_ctx=256, n_threads=1, logits_all=True, verbose=False)


def text_of(answer: Any) -> str:
    return str(answer["choices"][0]["text"])


def test_logprobs_are_the_models_own(all_logits: glr.Llama, animal: glr.Sampler) -> None:
    answer = all_logits(PROMPT, sampler=animal, max_tokens=40, logprobs=2)
    shown = answer["choices"][0]["logprobs"]
    assert "".join(shown["tokens"]) == text_of(answer)
    assert json.loads(text_of(answer))["animal"]
    # Against a model that reads the same tokens at once.
    prompt = all_logits.tokenize(PROMPT.encode(), special=True)
    tokens = all_logits.tokenize(text_of(answer).encode(), add_bos=False)
    all_logits.reset()
    all_logits.eval([*prompt, *tokens])
    rows = llama_cpp.Llama.logits_to_logprobs(all_logits.scores[len(prompt) - 1 : len(prompt) + len(tokens) - 1])
    if shown["tokens"] == [all_logits.detokenize([token]).decode() for token in tokens]:
        np.testing.assert_allclose(
            shown["token_logprobs"], [row[t] for row, t in zip(rows, tokens, strict=True)], atol=0.3
        )


def test_logprobs_while_streaming(all_logits: glr.Llama, animal: glr.Sampler) -> None:
    pieces = list(all_logits(PROMPT, sampler=animal, max_tokens=40, logprobs=1, stream=True))
    shown = [piece["choices"][0]["logprobs"] for piece in pieces if piece["choices"][0]["logprobs"]]
    assert "".join(token for part in shown for token in part["tokens"]) == "".join(map(text_of, pieces))
    assert all(value <= 0 for part in shown for value in part["token_logprobs"])


def test_logprobs_without_all_logits_are_refused(llm: glr.Llama, animal: glr.Sampler) -> None:
    with pytest.raises(ValueError, match="logits_all"):
        llm(PROMPT, sampler=animal, logprobs=1)


def test_seed_of_the_call(llm: glr.Llama, animal: glr.Sampler) -> None:
    texts = [text_of(llm(PROMPT, sampler=animal, max_tokens=40, seed=seed)) for seed in (5, 6, 7, 8, 5)]
    assert texts[0] == texts[-1]
    assert len(set(texts)) > 1


def test_stop(llm: glr.Llama, animal: glr.Sampler) -> None:
    answer = llm(PROMPT, sampler=animal, max_tokens=40, stop=['", "'])
    assert text_of(answer).startswith('{"animal": "')
    assert "legs" not in text_of(answer)
    assert answer["choices"][0]["finish_reason"] == "stop"
    pieces = llm(PROMPT, sampler=animal, max_tokens=40, stop=['", "'], stream=True)
    assert "".join(map(text_of, pieces)) == text_of(answer)


def test_logit_bias_and_processors(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    constraint = glr.Grammar.from_gbnf('root ::= "is " ("yes" | "no")').compile(vocabulary)
    sampler = glr.Sampler(constraint, temperature=0.0)
    for word, other in (("yes", b"n"), ("no", b"y")):
        against = [t for t in range(len(vocabulary)) if vocabulary.token_bytes(t).strip()[:1] == other]
        assert text_of(llm("It ", sampler=sampler, logit_bias=dict.fromkeys(against, -100.0))) == "is " + word

        def lower(ids: Any, scores: Any, against: list[int] = against) -> Any:
            changed = np.array(scores)
            changed[against] -= 100
            return changed

        processors = llama_cpp.LogitsProcessorList([lower])
        assert text_of(llm("It ", sampler=sampler, logits_processor=processors)) == "is " + word


def test_stopping_criteria(llm: glr.Llama, animal: glr.Sampler) -> None:
    seen: list[int] = []

    def after_twelve(ids: Any, scores: Any) -> bool:
        seen.append(len(ids))
        return len(seen) > 5

    tokens = list(
        llm.generate(
            llm.tokenize(PROMPT.encode()),
            sampler=animal,
            stopping_criteria=llama_cpp.StoppingCriteriaList([after_twelve]),
        )
    )
    assert 5 <= len(tokens) < 15
    assert seen == sorted(seen)


def test_tokens_sent_to_the_generator(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = glr.Sampler(glr.Grammar.from_gbnf("root ::= [a-z]{40}").compile(vocabulary), seed=1)
    source = llm.generate(llm.tokenize(PROMPT.encode()), sampler=sampler)
    next(source)
    word = vocabulary.find("abc")
    assert word is not None
    source.send([word])
    assert word in llm._input_ids.tolist()
    with pytest.raises(glr.Error, match="not allowed"):
        source.send([vocabulary.find("{") or 0])


@pytest.mark.parametrize(
    "setting", [{"temperature": 0.1}, {"top_k": 1}, {"min_p": 0.0}, {"repeat_penalty": 2.0}, {"mirostat_mode": 1}]
)
def test_settings_beside_the_sampler_are_refused(
    llm: glr.Llama, animal: glr.Sampler, setting: dict[str, float]
) -> None:
    """They would be ignored in silence."""
    [name] = setting
    with pytest.raises(ValueError, match=f"{name} beside sampler would do nothing"):
        llm(PROMPT, sampler=animal, **setting)
    with pytest.raises(ValueError, match=f"{name} beside sampler"):
        llm.create_completion(PROMPT, sampler=animal, stream=True, **setting)
    with pytest.raises(ValueError, match=f"{name} beside sampler"):
        llm.create_chat_completion([{"role": "user", "content": "x"}], sampler=animal, **setting)
    with pytest.raises(ValueError, match="temp beside sampler"):
        next(llm.generate([1], sampler=animal, temp=0.1))


def test_settings_of_a_response_format_are_its_samplers(llm: glr.Llama) -> None:
    form = {"type": "json_schema", "json_schema": {"schema": {"type": "integer", "minimum": 10, "maximum": 99}}}
    greedy = {"response_format": form, "temperature": 0.0, "max_tokens": 9}
    answers = [llm.create_chat_completion(MESSAGES, seed=seed, **greedy) for seed in range(3)]
    assert len({answer["choices"][0]["message"]["content"] for answer in answers}) == 1


def test_an_empty_prompt(llm: glr.Llama, animal: glr.Sampler) -> None:
    """There is nothing to look at logits after; what stood in the cache is no prompt."""
    llm.eval([5] * 40)
    with pytest.raises(ValueError, match="the prompt is empty"):
        next(llm.generate([], sampler=animal))
    with pytest.raises(ValueError, match="the prompt is empty"):
        llm("", sampler=animal)
    assert glr.generate(llm, "", animal).status == "complete"  # after the token that begins a sequence


def test_a_draft_model(model_path: Path, vocabulary: glr.Vocabulary) -> None:
    """The text repeats itself, so that prompt lookup has something to guess."""
    grammar = 'root ::= "[" item ("," item){2} "]"\nitem ::= "{\\"animal\\": \\"" [a-z]{3,6} "\\"}"'
    sampler = glr.Sampler(glr.Grammar.from_gbnf(grammar).compile(vocabulary), temperature=0.0, forced_tokens=False)
    drafted = glr.Llama(
        model_path=str(model_path), n_ctx=256, n_threads=1, verbose=False, draft_model=LlamaPromptLookupDecoding()
    )
    text = text_of(drafted('[{"animal": "cat"},{"animal": "dog"}] and more: ', sampler=sampler, max_tokens=80))
    assert sampler.constraint.grammar.matches(text)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "response_format",
    [
        {"type": "json_object", "schema": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}},
                                           "required": ["n"], "additionalProperties": False}},
        {"type": "json_schema", "json_schema": {"name": "n", "schema": {"enum": [{"n": 1}, {"n": 2}]}}},
    ],
)  # fmt: skip
def test_response_format(llm: glr.Llama, response_format: Any, stream: bool) -> None:
    answer = llm.create_chat_completion(
        MESSAGES, response_format=response_format, max_tokens=60, stream=stream, seed=3, temperature=0.5
    )
    if stream:
        text = "".join(piece["choices"][0]["delta"].get("content") or "" for piece in answer)
    else:
        text = answer["choices"][0]["message"]["content"]
    assert list(json.loads(text)) == ["n"]


def test_json_object_without_a_schema(llm: glr.Llama) -> None:
    answer = llm.create_chat_completion(
        MESSAGES, response_format={"type": "json_object"}, max_tokens=12, temperature=0.0
    )
    assert answer["choices"][0]["message"]["content"].startswith("{")


@pytest.mark.parametrize(
    ("response_format", "message"),
    [
        ({"type": "json_schema", "json_schema": {"schema": {"type": "no such type"}}}, "type"),
        ({"type": "json_schema"}, "json_schema.schema"),
        ({"type": "xml"}, "xml"),
    ],
)
def test_a_response_format_that_cannot_be_kept_is_refused(llm: glr.Llama, response_format: Any, message: str) -> None:
    with pytest.raises((glr.SchemaError, ValueError), match=message):
        llm.create_chat_completion(MESSAGES, response_format=response_format)


def test_text_asks_for_nothing(llm: glr.Llama) -> None:
    answer = llm.create_chat_completion(MESSAGES, response_format={"type": "text"}, max_tokens=3, temperature=0.0)
    assert answer["usage"]["completion_tokens"] == 3


def test_sampler_beside_response_format_is_refused(llm: glr.Llama, animal: glr.Sampler) -> None:
    with pytest.raises(ValueError, match="sampler and response_format"):
        llm.create_chat_completion(MESSAGES, sampler=animal, response_format={"type": "json_object"})


def test_clone(llm: glr.Llama, animal: glr.Sampler) -> None:
    """A clone in the middle of a text goes on by itself and the same way."""
    sampler = animal.restarted()
    for token in sampler.forced_tokens(lambda text: llm.tokenize(text, add_bos=False)):
        assert sampler.accept(token)
    row = np.random.default_rng(1).normal(size=llm.n_vocab()).astype(np.float32)
    twin = sampler.clone()
    for _ in range(3):
        token = twin.sample(row)
        assert twin.accept(token)
    tokens = [sampler.sample(row)]
    assert sampler.accept(tokens[0])
    assert sampler.evidence["tokens"] == twin.evidence["tokens"] - 2
    with pytest.raises(TypeError):
        copy.copy(sampler)


def test_sampler_as_a_plain_grammar_of_llama_cpp_is_refused(llm: glr.Llama, animal: glr.Sampler) -> None:
    with pytest.raises(ValueError, match="sampler and grammar"):
        llm(PROMPT, sampler=animal, grammar=llama_cpp.LlamaGrammar.from_string('root ::= "a"'))
