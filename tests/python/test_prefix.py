"""Going on from text that stands already, and tokens at the seam."""

from __future__ import annotations

import json
from pathlib import Path

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


SENTENCE = r'root ::= "\"" [^"]+ "\""'


def test_as_many_tokens_are_taken_back_as_a_longer_one_can_cover(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    """Three tokens stand for " indivi", one for " individual"."""
    constraint = glr.Grammar.from_gbnf(SENTENCE).compile(vocabulary)
    prefix = '"She is an indivi'
    standing = llm.tokenize(prefix.encode(), add_bos=False)
    assert [vocabulary.token_bytes(token) for token in standing[-3:]] == [b" ind", b"iv", b"i"]
    for seed in range(4):
        result = glr.generate(llm, "Write. ", glr.Sampler(constraint, seed=seed), prefix=prefix, max_tokens=4)
        written = b"".join(map(vocabulary.token_bytes, result.tokens))
        assert vocabulary.token_bytes(result.tokens[0]) == b" individual"
        assert written == b" indivi" + result.text.encode()
        assert (len(result.tokens), result.evidence["healed"]) == (4, True)
    stays = glr.generate(llm, "Write. ", glr.Sampler(constraint, seed=1), prefix=prefix, max_tokens=4, heal=False)
    assert bytes(llm.detokenize(llm._input_ids.tolist())).startswith(b"Write. " + prefix.encode())
    assert not stays.evidence["healed"]


def test_a_longer_token_across_a_sign(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = glr.Sampler(glr.Grammar.from_gbnf(SENTENCE).compile(vocabulary), temperature=0.0)
    for prefix, first in (('"http:', b"://"), ('"http:/', b"://"), ('"https:', b"://")):
        result = glr.generate(llm, "A link: ", sampler, prefix=prefix, max_tokens=2)
        assert vocabulary.token_bytes(result.tokens[0]) == first
        assert (prefix + result.text).split(":")[1].startswith("//")


def test_the_whole_cut_is_chosen_again_one_token_at_a_time(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    """At each of the tokens that stand the model chooses between it and the longer ones: with the weights it gives."""
    constraint = glr.Grammar.from_gbnf(SENTENCE).compile(vocabulary)
    cuts = set()
    for seed in range(30):
        sampler = glr.Sampler(constraint, seed=seed, temperature=20.0, top_p=1.0, min_p=0.0, top_k=0)
        result = glr.generate(llm, "Write. ", sampler, prefix='"An indivi', max_tokens=1)
        pieces = [vocabulary.token_bytes(token) for token in result.tokens]
        assert b"".join(pieces) == b" indivi" + result.text.encode() + result.pending
        assert result.text or result.pending
        cuts.add(len(pieces))
    assert cuts >= {1, 3}


def test_a_full_context_counts_the_tokens_that_were_taken_back(model_path: Path, vocabulary: glr.Vocabulary) -> None:
    small = glr.Llama(model_path=str(model_path), n_ctx=64, n_threads=1, verbose=False)
    sampler = glr.Sampler(glr.Grammar.from_gbnf(SENTENCE).compile(vocabulary), seed=1)
    prefix = '"An indivi'
    size = len(small.tokenize(prefix.encode(), add_bos=False))
    for prompt in range(64 - size - 4, 64 - size):
        result = glr.generate(small, [5] * prompt, sampler, prefix=prefix)
        assert result.reason == "context_full"
        assert small.n_tokens <= 64
    with pytest.raises(ValueError, match="the prompt has 64 tokens, the context 64"):
        glr.generate(small, [5] * (64 - size), sampler, prefix=prefix)


def test_cancelled_at_the_seam(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    """A prefix that is a sentence is one, whatever of it was taken back."""
    sampler = glr.Sampler(glr.Grammar.from_gbnf('root ::= "an indivi" "dual"?').compile(vocabulary), seed=1)
    result = glr.generate(llm, PROMPT, sampler, prefix="an indivi", cancel=lambda: True)
    assert (result.status, result.text, result.complete, result.evidence["healed"]) == ("cancelled", "", True, True)
    assert result.tokens == ()


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
