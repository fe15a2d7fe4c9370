"""Code points that are written in several tokens: nothing but whole ones leaves, and nothing is lost or replaced.

Two real ways to cut them: the demo model's byte-level BPE, and byte fall-back as SentencePiece vocabularies have it, in
a model of chance weights. Near equal weights make every cut of a text come up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import glrsampler as glr
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCRIPTS = {
    "emoji": r"[🀄🦊🧑🚀🏽‍♀️😀-😎]{1,6}",
    "cjk": r"[\u4E00-\u9FFF\u3041-\u3096]{1,8}",
    "mixed": r"[a-c \u00E9\u00DF日本語\U0001F600-\U0001F64F]{1,12}",
    "ends of the ranges": r"[\x7F\x80\u07FF\u0800\uD7FF\uE000\uFFFF\U00010000\U0010FFFF]{1,6}",
    "json": r'"\"" [^"\\\x00-\x1F\x20-\x7E]{1,6} "\""',
}


@pytest.fixture(params=["byte fall-back", "byte-level BPE"])
def model(request: pytest.FixtureRequest, fallback: glr.Llama, llm: glr.Llama) -> glr.Llama:
    return fallback if request.param == "byte fall-back" else llm


def sampler_of(model: glr.Llama, grammar: str, seed: int, **options: bool) -> glr.Sampler:
    constraint = glr.Grammar.from_gbnf(f"root ::= {grammar}").compile(glr.Vocabulary.from_llama(model))
    return glr.Sampler(constraint, seed=seed, temperature=50.0, top_k=0, top_p=1.0, min_p=0.0, **options)


def check(events: Sequence[glr.Event], vocabulary: glr.Vocabulary) -> int:
    """What every stream keeps to. Returns how many tokens ended inside a code point."""
    written, said, inside = b"", "", 0
    for event in events[:-1]:
        written += b"".join(map(vocabulary.token_bytes, event.tokens))
        said += event.text
        waiting = written[len(said.encode()) :]
        assert written == said.encode() + waiting, "a prefix of the bytes, unchanged"
        assert len(waiting) < 4
        if waiting:
            inside += 1
            with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
                waiting.decode()
            assert not event.complete
        assert event.pending == b""
        assert event.status is None
    last = events[-1]
    assert written == (said + last.text).encode() + last.pending
    assert last.evidence["invalid_bytes"] == 0
    return inside


@pytest.mark.parametrize("script", SCRIPTS)
def test_only_whole_code_points_leave(model: glr.Llama, script: str) -> None:
    vocabulary = glr.Vocabulary.from_llama(model)
    grammar = glr.Grammar.from_gbnf(f"root ::= {SCRIPTS[script]}")
    inside = 0
    for seed in range(12):
        events = list(glr.stream(model, "x", sampler_of(model, SCRIPTS[script], seed), max_tokens=60))
        inside += check(events, vocabulary)
        assert events[-1].status == "complete"
        assert events[-1].pending == b""
        assert grammar.matches("".join(event.text for event in events))
    assert inside > 5, "this vocabulary cuts no code points of this kind"


@pytest.mark.parametrize("script", ["emoji", "cjk"])
def test_a_text_that_ends_inside_a_code_point_says_so(model: glr.Llama, script: str) -> None:
    vocabulary = glr.Vocabulary.from_llama(model)
    cut_off = 0
    for limit in range(1, 8):
        sampler = sampler_of(model, SCRIPTS[script].replace("{1,", "{4,"), limit)
        whole = glr.generate(model, "x", sampler)
        result = glr.generate(model, "x", sampler, max_tokens=limit)
        assert result.tokens == whole.tokens[:limit]
        assert (result.status, result.reason) == ("length", "max_tokens")
        assert whole.text.startswith(result.text)
        assert whole.text.encode().startswith(result.text.encode() + result.pending)
        assert result.text.encode() + result.pending == b"".join(map(vocabulary.token_bytes, result.tokens))
        cut_off += bool(result.pending)
        if result.pending:
            assert not result.complete
    assert cut_off


def test_a_cancelled_text_and_a_stop_string_keep_the_tail(model: glr.Llama) -> None:
    vocabulary = glr.Vocabulary.from_llama(model)
    for yes_at in range(2, 12, 3):
        answers = iter([False] * yes_at + [True] * 99)
        events = list(glr.stream(model, "x", sampler_of(model, r"[🦊🧑]{14,20}", yes_at), cancel=answers.__next__))
        check(events, vocabulary)
        assert events[-1].reason == "cancelled"
    for seed in range(6):
        stopped = glr.generate(model, "x", sampler_of(model, r"[🦊日]{3,9}", seed), stop="🦊日")
        assert "🦊日" not in stopped.text
        assert stopped.reason in ("stop_string", "grammar_end", "end_token")


@pytest.mark.parametrize("text", ["🦊", "日本語のテキスト", "👩‍👩‍👧‍👦 é ß", "a🏽b", "\U0010ffff\u0800"])
@pytest.mark.parametrize("forced", [True, False])
def test_one_text_in_whatever_tokens(model: glr.Llama, text: str, forced: bool) -> None:
    literal = "".join(f"\\U{ord(c):08x}" for c in text)
    vocabulary = glr.Vocabulary.from_llama(model)
    for seed in range(3):
        events = list(glr.stream(model, "x", sampler_of(model, f'"{literal}"', seed, forced_tokens=forced)))
        check(events, vocabulary)
        assert "".join(event.text for event in events) == text
        assert (events[-1].status, events[-1].pending) == ("complete", b"")


def test_forced_tokens_are_the_byte_tokens_of_the_tokenizer(fallback: glr.Llama) -> None:
    """What the vocabulary has no piece for is written in byte tokens, as the model's tokenizer does."""
    vocabulary = glr.Vocabulary.from_llama(fallback)
    matcher = glr.Grammar.from_gbnf('root ::= "日本🚀語"').compile(vocabulary).matcher()
    pieces = [vocabulary.token_bytes(token) for token in matcher.forced_tokens(before=b"a")]
    assert pieces == ["日本".encode(), *(bytes([byte]) for byte in "🚀".encode()), "語".encode()]


@pytest.mark.parametrize("cut", range(1, 4))
def test_going_on_from_a_prefix_before_a_cut_code_point(model: glr.Llama, cut: int) -> None:
    """A prefix must be whole; what follows it may be in parts."""
    sampler = sampler_of(model, '"日🦊" [🚀語]{2}', 3)
    with pytest.raises(ValueError, match="not whole UTF-8 at byte 3"):
        glr.generate(model, "x", sampler, prefix="日🦊".encode()[: 3 + cut])
    for heal in (True, False):
        events = list(glr.stream(model, "x", sampler, prefix="日", heal=heal))
        text = "".join(event.text for event in events)
        assert text[0] == "🦊"
        assert len(text) == 3
        assert events[-1].status == "complete"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=12), cuts=st.lists(st.integers(0, 48), max_size=12), tail=st.binary(max_size=3))
def test_the_buffer_returns_what_went_in(text: str, cuts: list[int], tail: bytes) -> None:
    """Any text cut anywhere, and bytes that are none: all of it comes out, in order."""
    data = text.encode() + tail
    buffer = glr.Utf8Buffer()
    bounds = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    out = b""
    for first, after in itertools.pairwise(bounds):
        piece = buffer.take(data[first:after])
        if not tail:
            assert piece.decode().encode() == piece
        out += piece
        assert out + buffer.pending == data[:after]
    assert out + buffer.finish() == data
    assert buffer.invalid_bytes == 0 or tail
