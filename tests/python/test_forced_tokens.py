"""Forced tokens are the ones that the model's own tokenizer makes of the text, and change nothing but the speed."""

from __future__ import annotations

import json
import random
from typing import Any

import glrsampler as glr
import pytest

PERSON = r"""
root ::= "{\"given_name\": \"" name "\", \"family_name\": \"" name "\", \"age\": " [1-9] [0-9] "}"
name ::= [A-Z] [a-z]{2,8}
"""
PROMPT = "Somebody as JSON: "


def sampler_for(grammar: str, vocabulary: glr.Vocabulary, **settings: Any) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(grammar).compile(vocabulary), seed=7, **settings)


def literal(text: str) -> str:
    return "".join(f"\\U{ord(c):08x}" for c in text)


def test_without_a_tokenizer_only_single_choices_count(letters: glr.Vocabulary) -> None:
    matcher = glr.Grammar.from_gbnf('root ::= "xyz" ("p" | "q")').compile(letters).matcher()
    assert matcher.forced_tokens() == [ord(c) - ord("a") for c in "xyz"]
    matcher = glr.Grammar.from_gbnf('root ::= "xab"').compile(letters).matcher()
    assert matcher.forced_bytes() == b"xab"
    assert matcher.forced_tokens() == [23]  # then "a" or "ab"
    assert matcher.commits == 0


def test_a_tokenizer_of_ones_own(letters: glr.Vocabulary) -> None:
    def longest(text: bytes) -> list[int]:
        tokens = []
        while text:
            size = 2 if text.startswith(b"ab") else 1
            tokens.append(26 if size == 2 else text[0] - ord("a"))
            text = text[size:]
        return tokens

    matcher = glr.Grammar.from_gbnf('root ::= "xab"').compile(letters).matcher()
    assert matcher.forced_tokens(longest) == [23, 26]
    matcher = glr.Grammar.from_gbnf('root ::= "xa" ("b" | "c")').compile(letters).matcher()
    assert matcher.forced_tokens(longest) == [23], "ab may cover the a and what follows"
    matcher = glr.Grammar.from_gbnf('root ::= "xa" ("d" | "c")').compile(letters).matcher()
    assert matcher.forced_tokens(longest) == [23, 0]


def test_a_tokenizer_that_makes_something_else_of_the_text_forces_nothing(letters: glr.Vocabulary) -> None:
    matcher = glr.Grammar.from_gbnf('root ::= "xab" [c-z]').compile(letters).matcher()
    for strange in ([1], [], [10**6], [-1], [1 << 40], [-(1 << 80)]):
        assert matcher.forced_tokens(lambda text, said=strange: said) == [23]  # x alone is allowed, whatever it says
    for wrong in (None, "ab", [1.5], [None], 3):
        with pytest.raises(TypeError, match="tokenizer: expected a list of token ids in return"):
            matcher.forced_tokens(lambda text, said=wrong: said)  # type: ignore[misc]  # the error is what is tested

    def fail(text: bytes) -> list[int]:
        raise KeyError("no answer")

    with pytest.raises(KeyError, match="no answer"):
        matcher.forced_tokens(fail)
    assert matcher.commits == 0


def test_the_whole_text_is_cut_as_the_tokenizer_cuts_it(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    for text in ('{"name": "value"}', "def f(x):\n    return x  # 12345", "日本語🦊é", "  two  spaces  ", "don't"):
        matcher = glr.Grammar.from_gbnf(f'root ::= "{literal(text)}"').compile(vocabulary).matcher()
        assert matcher.forced_tokens() == llm.tokenize(text.encode(), add_bos=False)


def test_what_follows_never_changes_forced_tokens(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    """Forced text, then anything: the tokens of the whole text begin with the forced ones."""
    rng = random.Random(4)
    pieces = [" ", "  ", "\n", "\n    ", "a", "name", ": ", '"', "12", "é", "{", "'s", ".", "the", "日", "\t", "_"]
    ends = ["[a-z]+", "[0-9]+", '[ \\n]+ "x"', '[^"]+', '("." | "!!" | "\\n\\n")', "[\\U0000007f-\\U0010FFFF]+", '"é"?']
    samples = {
        ends[0]: ["a", "ing", "name"], ends[1]: ["1", "2345"], ends[2]: [" x", "\n\nx", "   x"],
        ends[3]: ["abc", " the", "\n", "9", "é", "//"], ends[4]: [".", "!!", "\n\n"], ends[5]: ["é", "日本"],
        ends[6]: ["", "é"],
    }  # fmt: skip
    forced_bytes = 0
    for _ in range(150):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 6)))
        end = rng.choice(ends)
        matcher = glr.Grammar.from_gbnf(f'root ::= "{literal(text)}" {end}').compile(vocabulary).matcher()
        forced = matcher.forced_tokens()
        for follows in samples[end]:
            whole = llm.tokenize((text + follows).encode(), add_bos=False)
            assert whole[: len(forced)] == forced, (text, follows)
        forced_bytes += sum(len(vocabulary.token_bytes(token)) for token in forced)
    assert forced_bytes > 500


def test_generate_forces_and_repeats(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = sampler_for(PERSON, vocabulary)
    first = glr.generate(llm, PROMPT, sampler, max_tokens=80)
    assert first.status == "complete"
    assert list(json.loads(first.text)) == ["given_name", "family_name", "age"]
    assert first.evidence["forced"] >= 10
    assert glr.generate(llm, PROMPT, sampler, max_tokens=80).tokens == first.tokens
    off = glr.generate(llm, PROMPT, sampler_for(PERSON, vocabulary, forced_tokens=False), max_tokens=80)
    assert off.status == "complete"
    assert off.evidence["forced"] == 0


def test_forced_tokens_are_read_in_batches(
    llm: glr.Llama, vocabulary: glr.Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    evaluate = llm.eval
    monkeypatch.setattr(llm, "eval", lambda tokens: (read.append(len(tokens)), evaluate(tokens))[1])
    result = glr.generate(llm, PROMPT, sampler_for(PERSON, vocabulary), max_tokens=80)
    sampled = len(result.tokens) - result.evidence["forced"]
    assert len(read) <= sampled + 1  # the prompt may be two
    assert max(read[2:]) >= 4


def test_the_cache_holds_what_was_said(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    """The logits after forced tokens are those of a model that reads the same tokens from the start."""
    grammar = r'root ::= "{\"given_name\": " [0-9] [0-9]'
    result = glr.generate(llm, PROMPT, sampler_for(grammar, vocabulary, temperature=0.0), max_tokens=80)
    one_by_one = glr.generate(
        llm, PROMPT, sampler_for(grammar, vocabulary, temperature=0.0, forced_tokens=False), max_tokens=80
    )
    assert result.evidence["forced"] >= 3
    if one_by_one.tokens[: result.evidence["forced"]] == result.tokens[: result.evidence["forced"]]:
        assert one_by_one.tokens == result.tokens
    prompt = llm.tokenize(PROMPT.encode(), special=True)
    llm.reset()
    read = [*prompt, *result.tokens[:-1]]
    llm.eval(read)
    last = sampler_for(grammar, vocabulary, temperature=0.0)
    for token in result.tokens[:-1]:
        assert last.accept(token)
    address = glr.decoding.Decoding(llm, last, prompt).logits_address()
    assert last.sample_at(address, llm.n_vocab()) == result.tokens[-1]


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5, 8, 13])
def test_max_tokens_counts_forced_tokens(llm: glr.Llama, vocabulary: glr.Vocabulary, limit: int) -> None:
    sampler = sampler_for(PERSON, vocabulary)
    whole = glr.generate(llm, PROMPT, sampler, max_tokens=80)
    cut = glr.generate(llm, PROMPT, sampler, max_tokens=limit)
    assert (cut.status, cut.reason) == ("length", "max_tokens")
    assert cut.tokens == whole.tokens[:limit]
    assert whole.text.startswith(cut.text)
    answer = llm(PROMPT, sampler=sampler, max_tokens=limit or 1)
    assert answer["usage"]["completion_tokens"] == (limit or 1)


@pytest.mark.parametrize("stop", ["given", "n_na", '": "', "name"])
def test_stop_strings_inside_forced_text(llm: glr.Llama, vocabulary: glr.Vocabulary, stop: str) -> None:
    sampler = sampler_for(PERSON, vocabulary)
    whole = glr.generate(llm, PROMPT, sampler, max_tokens=80).text
    before = whole[: whole.index(stop)]
    result = glr.generate(llm, PROMPT, sampler, max_tokens=80, stop=stop)
    assert (result.text, result.reason) == (before, "stop_string")
    assert llm(PROMPT, sampler=sampler, max_tokens=80, stop=[stop])["choices"][0]["text"] == before


def test_events_say_which_tokens_were_forced(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = sampler_for(PERSON, vocabulary)
    *events, last = glr.stream(llm, PROMPT, sampler, max_tokens=80)
    assert sum(event.forced for event in events) == last.evidence["forced"] > 0
    assert all((event.allowed == 0) == event.forced and len(event.tokens) == 1 for event in events)
    assert last.evidence["allowed"] == [event.allowed for event in events]
    cancelled = glr.generate(llm, PROMPT, sampler, cancel=iter([False] * 3 + [True] * 99).__next__)
    assert (cancelled.status, cancelled.reason) == ("cancelled", "cancelled")
    assert "".join(event.text for event in events).startswith(cancelled.text)


def test_a_forbidden_token_is_not_forced(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    plain = glr.generate(llm, PROMPT, sampler_for(PERSON, vocabulary), max_tokens=80).tokens[:6]
    sampler = sampler_for(PERSON, vocabulary, forbidden_tokens=[plain[3]])
    result = glr.generate(llm, PROMPT, sampler, max_tokens=80)
    assert result.status == "complete"
    assert plain[3] not in result.tokens


def test_llama_methods_give_the_same_text(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    sampler = sampler_for(PERSON, vocabulary)
    text = glr.generate(llm, PROMPT, sampler, max_tokens=80).text
    assert llm(PROMPT, sampler=sampler, max_tokens=80)["choices"][0]["text"] == text
    pieces = llm.create_completion(PROMPT, sampler=sampler, max_tokens=80, stream=True)
    assert "".join(piece["choices"][0]["text"] for piece in pieces) == text
