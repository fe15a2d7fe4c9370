"""Regular expressions against Python's `re`, and masks against committing every token."""

from __future__ import annotations

import itertools
import re
import time
import unicodedata
from collections.abc import Callable
from random import Random
from typing import TypeVar

import glrsampler as glr
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

T = TypeVar("T")

ALPHABET = "ab-"
TEXTS = ["".join(letters) for n in range(5) for letters in itertools.product(ALPHABET, repeat=n)]
BYTES = [bytes([byte]) for byte in range(256)]
WORDS = [b"ab", b"ba", b"a-", b"-b", b"aab", b"b-a", "é".encode(), "éa".encode()]
END = len(BYTES) + len(WORDS)

FLAG_TEXTS = ["", *"xqQé1á", "abxc", "aBxc", "ab", "Ab", "áÁ", "yx", "a\nb", "A\nB", "\nx", "\n", "1\n"]
CATEGORIES = ["Lu", "Ll", "Lt", "Lo", "Nd", "Nl", "Pd", "Sc", "Sm", "Zs", "Cc", "Cf", "Mn", "Co", "Cn"]

atoms = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", r"\w", r"\W", r"\b", "^", "$", "(?<=a)", "(?<!-)"])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{0,2}", "{2,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
        st.tuples(st.sampled_from(["(?=", "(?!"]), inner).map(lambda two: f"{two[0]}{two[1]})"),
    ),
    max_leaves=8,
)
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def vocabulary() -> glr.Vocabulary:
    """Every byte, some words, and the end."""
    return glr.Vocabulary.from_tokens([*BYTES, *WORDS, b""], [END], {END: "</s>"})


def unless_empty(make: Callable[[], T]) -> T | None:
    """What is made of a pattern, or None when no text matches it."""
    try:
        return make()
    except glr.GrammarError as error:
        if "no sentence" not in str(error):
            raise
        return None


def matching(pattern: str) -> set[str]:
    compiled = re.compile(pattern, re.ASCII)
    return {text for text in TEXTS if compiled.fullmatch(text)}


@relaxed
@given(patterns)
def test_same_language_as_re(pattern: str) -> None:
    # Until 3.14 Python's \B did not match the empty text; the patterns here have none.
    grammar = unless_empty(lambda: glr.Grammar.from_regex(pattern))
    ours = set() if grammar is None else {text for text in TEXTS if grammar.matches(text)}
    assert ours == matching(pattern)


@relaxed
@given(pattern=patterns, seed=st.integers(0, 1 << 32))
def test_masks_are_exact_and_never_lead_nowhere(vocabulary: glr.Vocabulary, pattern: str, seed: int) -> None:
    constraint = unless_empty(lambda: glr.Grammar.from_regex(pattern).compile(vocabulary))
    if constraint is None:
        assert not matching(pattern)
        return
    matcher = constraint.matcher()
    rng = Random(seed)
    for _ in range(6):
        allowed = set(matcher.allowed_tokens().tolist())
        assert allowed == {token for token in range(len(vocabulary)) if matcher.fork().try_commit(token)}
        assert allowed, "every byte is a token, so a text can always be finished"
        assert matcher.accepting == (END in allowed)
        token = rng.choice(sorted(allowed))
        if token == END:
            return
        matcher.commit(token)


@pytest.mark.parametrize("flags", ["", "i", "m", "s", "im"])
@pytest.mark.parametrize("pattern", ["aB.^c$", r"a$\n^b", "(?s:.)x", "(?-i:A)b|Á+", r"\Bx|[^a-z]\n?"])
def test_flags(pattern: str, flags: str) -> None:
    # ECMA-262 has more line ends than Python, and no $ before a last newline: no text here tells them apart.
    python = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    compiled = re.compile(pattern, sum(python[flag] for flag in flags))
    grammar = unless_empty(lambda: glr.Grammar.from_regex(pattern, flags))
    for text in FLAG_TEXTS:
        found = compiled.fullmatch(text) is not None
        assert (grammar is not None and grammar.matches(text)) == found, text


@pytest.mark.parametrize("name", CATEGORIES)
def test_general_categories(name: str) -> None:
    # The tables are those of the interpreter that built the library: a test with another one sees its own
    # version for code points that both assign.
    inside = glr.Grammar.from_regex(rf"\p{{{name}}}")
    outside = glr.Grammar.from_regex(rf"\P{{{name}}}")
    rng = Random(name)
    for code in rng.sample(range(0x20000), 300) + list(range(256)):
        if 0xD800 <= code <= 0xDFFF:
            continue
        member = unicodedata.category(chr(code)) == name
        assert inside.matches(chr(code)) == member, hex(code)
        assert outside.matches(chr(code)) != member, hex(code)


def test_case_folding_is_simple_folding() -> None:
    rng = Random(1)
    letters = [c for c in map(chr, range(0x1F000)) if c.lower() != c.upper()]
    for letter in rng.sample(letters, 200):
        grammar = glr.Grammar.from_regex(re.escape(letter), "i")
        for other in {letter, letter.lower(), letter.upper(), letter.swapcase()}:
            if len(other) == 1 and len(other.casefold()) == 1:
                same = other == letter or other.casefold() == letter.casefold()
                assert grammar.matches(other) == same, (letter, other)


def test_text_is_well_formed(vocabulary: glr.Vocabulary) -> None:
    matcher = glr.Grammar.from_regex("(?!é)[^a]").compile(vocabulary).matcher()
    first = set(matcher.allowed_tokens().tolist())
    assert ord("a") not in first
    assert not first & {0x80, 0xC0, 0xC1, 0xF5, 0xFF}
    matcher.commit(0xC3)
    assert set(matcher.allowed_tokens().tolist()) == set(range(0x80, 0xC0)) - {0xA9}


def test_a_terminal_with_an_exponential_automaton_stays_cheap(vocabulary: glr.Vocabulary) -> None:
    begin = time.perf_counter()
    constraint = glr.Grammar.from_regex("(a|b)*a(a|b){16}").compile(vocabulary)
    matcher = constraint.matcher()
    rng = Random(0)
    for _ in range(200):
        matcher.commit(rng.choice([token for token in matcher.allowed_tokens().tolist() if token != END]))
    assert time.perf_counter() - begin < 5
    assert constraint.stats.states < 2000


def test_errors_name_the_place() -> None:
    with pytest.raises(glr.GrammarError, match=r"my pattern:1:4: unsupported back-reference") as caught:
        glr.Grammar.from_regex(r"(a)\1", file="my pattern")
    assert (caught.value.line, caught.value.column) == (1, 4)
    assert "alternatives" in caught.value.hint


def test_choices() -> None:
    grammar = glr.Grammar.from_choices(["yes", "no", b"\xff"])
    assert [text for text in ("yes", "no", b"\xff", "", "yesno") if grammar.matches(text)] == ["yes", "no", b"\xff"]
    with pytest.raises(glr.GrammarError, match="no text to choose from"):
        glr.Grammar.from_choices([])
