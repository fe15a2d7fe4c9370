"""Going on from text that stands already, and tokens at the seam."""

from __future__ import annotations

import json

import glrsampler as glr
import llama_cpp
import numpy as np
import pytest

ANIMAL = r'root ::= "{\"animal\": \"" [a-z]{3,12} "\", \"legs\": " [0-9] "}"'
PROMPT = "A cat as JSON: "


@pytest.fixture(scope="module")
def animal(vocabulary: glr.Vocabulary) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(ANIMAL).compile(vocabulary), seed=11)


@pytest.mark.parametrize("heal", [True, False])
@pytest.mark.parametrize("size", [1, 2, 5, 9, 10, 11, 12])
def test_goes_on_from_the_prefix(llm: glr.Llama, animal: glr.Sampler, size: int, heal: bool) -> None:
    prefix = '{"animal": "cat", "legs": 4}'[:size]
    result = glr.generate(llm, PROMPT, animal, max_tokens=60, prefix=prefix, heal=heal)
    assert (result.status, result.complete) == ("complete", True)
    value = json.loads(prefix + result.text)
    assert list(value) == ["animal", "legs"]
    assert result.evidence["prefix_bytes"] == size
    assert heal or not result.evidence["healed"]


def test_a_whole_sentence_as_prefix(llm: glr.Llama, animal: glr.Sampler) -> None:
    result = glr.generate(llm, PROMPT, animal, prefix=b'{"animal": "cat", "legs": 4}')
    assert (result.text, result.status, result.tokens) == ("", "complete", ())


def test_a_refused_prefix_is_an_error_with_its_offset(llm: glr.Llama, animal: glr.Sampler) -> None:
    with pytest.raises(glr.RejectedToken) as error:
        glr.stream(llm, PROMPT, animal, prefix=b'{"animal": "C')
    assert error.value.offset == 12
    assert error.value.reason is glr.Reason.REJECTED
    with pytest.raises(ValueError, match="UTF-8 at byte 0"):
        glr.generate(llm, PROMPT, animal, prefix="é".encode()[:1])


def test_the_last_token_is_chosen_again_where_a_longer_one_fits(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    constraint = glr.Grammar.from_gbnf('root ::= "The capital" [a-z]').compile(vocabulary)
    sampler = glr.Sampler(constraint, temperature=0.0)
    grammar = glr.Grammar.from_gbnf('root ::= "The" " capital of France is" " Paris"')
    sampler = glr.Sampler(grammar.compile(vocabulary), temperature=0.0)
    whole = llm.tokenize(b"The capital of France is Paris", add_bos=False)
    healed = glr.generate(llm, "Q. ", sampler, prefix="The cap")
    assert healed.text == "ital of France is Paris"
    assert healed.evidence["healed"]
    assert list(healed.tokens) == whole[1:], "the tokens of the text as the tokenizer would have cut it"
    stays = glr.generate(llm, "Q. ", sampler, prefix="The cap", heal=False)
    assert stays.text == healed.text
    assert vocabulary.token_bytes(stays.tokens[0]) != b" capital"


def test_healing_samples_among_tokens_that_begin_alike(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    constraint = glr.Grammar.from_gbnf('root ::= "a " [a-z]+ "."').compile(vocabulary)
    for seed in range(5):
        sampler = glr.Sampler(constraint, seed=seed, temperature=2.0)
        events = list(glr.stream(llm, "Once upon ", sampler, prefix="a ti", max_tokens=10))
        first = events[0]
        assert vocabulary.token_bytes(first.tokens[0]).startswith(b" ti")
        assert vocabulary.token_bytes(first.tokens[0]).decode() == " ti" + first.text


def test_max_tokens_of_zero_leaves_the_prefix(llm: glr.Llama, animal: glr.Sampler) -> None:
    result = glr.generate(llm, PROMPT, animal, prefix='{"anim', max_tokens=0)
    assert (result.text, result.reason, result.complete) == ("", "max_tokens", False)


def test_the_model_reads_prompt_and_prefix(llm: glr.Llama, animal: glr.Sampler) -> None:
    prefix = '{"animal": "'
    glr.generate(llm, PROMPT, animal, prefix=prefix, heal=False, max_tokens=1)
    assert bytes(llm.detokenize(llm._input_ids.tolist())).decode().startswith(PROMPT + prefix)


def test_stop_string_counts_the_prefix_in_the_sentence(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = glr.Sampler(glr.Grammar.from_gbnf('root ::= "abc" "def"?').compile(vocabulary), temperature=0.0)
    result = glr.generate(llm, PROMPT, sampler, prefix="ab", stop="def")
    assert (result.text, result.complete) == ("c", True)


def test_a_prefilled_turn(llm: glr.Llama, animal: glr.Sampler) -> None:
    template = llama_cpp.llama_chat_format.Jinja2ChatFormatter(
        llm.metadata["tokenizer.chat_template"], eos_token="<|im_end|>", bos_token="<|im_start|>"
    )
    prompt = template(messages=[{"role": "user", "content": "A dog, please."}]).prompt
    result = glr.generate(llm, prompt, animal, prefix='{"animal": "dog"')
    assert json.loads('{"animal": "dog"' + result.text)["animal"] == "dog"


def test_rows_wider_than_the_vocabulary() -> None:
    tokens = glr.Vocabulary.from_tokens([b"a", b"b"], [2], {2: "</s>"})
    sampler = glr.Sampler(glr.Grammar.from_gbnf('root ::= ("a" | "b")+').compile(tokens), temperature=0.0)
    row = np.full(8, 100.0, dtype=np.float32)
    row[:3] = [1.0, 2.0, 3.0]
    assert sampler.sample(row) == 1
    with pytest.raises(ValueError, match="logits"):
        sampler.sample(row[:2])


def test_a_padded_model(llm: glr.Llama) -> None:
    """A vocabulary that leaves the model's last tokens out: they are never chosen."""
    full = glr.Vocabulary.from_llama(llm)
    count = 2000
    short = glr.Vocabulary.from_tokens([full.token_bytes(i) for i in range(count)], [2], {0: "a", 1: "b", 2: "c"})
    sampler = glr.Sampler(glr.Grammar.from_gbnf("root ::= [a-z ]{20,30}").compile(short), seed=1)
    result = glr.generate(llm, PROMPT, sampler)
    assert result.status == "complete"
    assert max(result.tokens) < count
