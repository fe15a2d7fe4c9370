"""Whatever generate is given: an error of ours before anything happens, or a text that keeps every promise."""

from __future__ import annotations

from typing import Any

import glrsampler as glr
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

GRAMMARS = {
    text: glr.Grammar.from_gbnf(f"root ::= {text}")
    for text in (
        '"a"', '""', "[a-c]*", '"{" "name" [0-9]+ "}"', "[🦊日]{3,9}", '"name"{2,40}', '("true" | "tr")+',
        r'"\"" [^"]* "\""', '"a" root? "b"', ".{1,400}", '"日本語" [^a]*', '"a"{200,}',
    )
}  # fmt: skip
PROMPTS = [
    "",
    "x",
    "日本",
    "a" * 200,
    b"\xff\xfe",
    b"\xf0\x9f",
    [],
    [1],
    [1] * 127,
    [1] * 128,
    [5, 279],
    [5, 280],
    [-1],
]
PREFIXES = ["", "a", "n", "na", "日", "日本語", "{na", b"\xe6\x97", "tr", '"', '"日', "zzz", "name" * 3, "a" * 60]
ODD_SETTINGS: dict[str, list[Any]] = {
    "temperature": [0, 1.0, 1e-30, 3e38, -1, float("nan"), float("inf")],
    "top_k": [0, 1, -1, 40, 2**31 - 1, 2**31],
    "top_p": [1.0, 0.0, 0.5, 1e-30, 2, float("nan")],
    "min_p": [0.0, 0.5, 1.0, 2],
    "repeat_penalty": [1.0, 3.0, 1e30, 0],
    "frequency_penalty": [0, 1e30, -1e30, float("nan")],
    "penalty_last_n": [0, -1, 1, 10**6, -2],
    "forbidden_tokens": [[], [1], list(range(260)), [2, 265, 266], [10**6]],
    "forced_tokens": [True, False],
}


class Stopped(Exception):
    """What a callable may raise."""


class Cancel:
    """No for some questions, then yes, or an exception."""

    def __init__(self, noes: int, raises: bool) -> None:
        self.noes, self.raises = noes, raises

    def __call__(self) -> bool:
        self.noes -= 1
        if self.noes < 0 and self.raises:
            raise Stopped
        return self.noes < 0


calls = st.fixed_dictionaries(
    {},
    optional={
        "max_tokens": st.sampled_from([None, 0, 1, 2, 5, 100, 10**9, -1]),
        "stop": st.sampled_from(["", [], ["a"], "name", ["", ""], "日", ["🦊日", "b"]]),
        "cancel": st.builds(Cancel, st.integers(0, 40), st.booleans()),
        "prefix": st.sampled_from(PREFIXES),
        "heal": st.booleans(),
    },
)
odd = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in ODD_SETTINGS.items()})
hot = st.sampled_from([{"temperature": 50.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}, {"temperature": 0.0}])


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    grammar=st.sampled_from(list(GRAMMARS)), prompt=st.sampled_from(PROMPTS), call=calls, setting=hot | odd,
    seed=st.integers(0, 99), read=st.integers(0, 12),
)  # fmt: skip
@example(grammar='"a"{200,}', prompt=[1] * 120, call={"prefix": "a" * 60}, setting={}, seed=1, read=0)
def test_an_error_or_a_text_that_keeps_every_promise(
    fallback: glr.Llama, grammar: str, prompt: Any, call: dict[str, Any], setting: dict[str, Any], seed: int, read: int
) -> None:
    vocabulary = glr.Vocabulary.from_llama(fallback)
    constraint = GRAMMARS[grammar].compile(vocabulary)
    try:
        sampler = glr.Sampler(constraint, seed=seed, **setting)
        result = glr.generate(fallback, prompt, sampler, **call)
    except (ValueError, glr.RejectedToken, Stopped):
        return
    prefix = call.get("prefix", "")
    before = prefix.encode() if isinstance(prefix, str) else prefix
    data = result.text.encode() + result.pending
    written = b"".join(map(vocabulary.token_bytes, result.tokens))
    assert result.complete == GRAMMARS[grammar].matches(before + data)
    assert (result.status == "complete") <= result.complete
    if result.reason != "stop_string":
        assert written.endswith(data)
        assert (before + data).endswith(written), "tokens chosen again are of the prefix"
    limit = call.get("max_tokens")
    if limit is not None and not result.evidence["healed"]:
        assert len(result.tokens) <= limit
    assert fallback.n_tokens <= len(fallback.input_ids)

    # A stream that is dropped half way leaves nothing behind that changes the next text.
    again = {name: value for name, value in call.items() if name != "cancel"}
    whole = glr.generate(fallback, prompt, sampler, **again)
    stream = glr.stream(fallback, prompt, sampler, **again)
    for _, token in zip(range(read), stream, strict=False):
        assert set(token.tokens) <= set(whole.tokens)
    del stream
    assert glr.generate(fallback, prompt, sampler, **again).tokens == whole.tokens


def test_the_words_of_a_full_context(fallback: glr.Llama) -> None:
    vocabulary = glr.Vocabulary.from_llama(fallback)
    sampler = glr.Sampler(GRAMMARS['"a"{200,}'].compile(vocabulary), seed=1)
    result = glr.generate(fallback, [1] * 127, sampler)
    assert (result.text, result.reason) == ("a", "context_full")
    with pytest.raises(ValueError, match="the prompt has 128 tokens, the context 128"):
        glr.generate(fallback, [1] * 128, sampler)
