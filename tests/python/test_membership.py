"""Whole texts: Grammar.matches against the recogniser of tests/oracle, and both against answers known by hand."""

from __future__ import annotations

import itertools
from random import Random

import glrsampler as glr
import pytest
from oracle.earley import NoSentence, Recogniser, utf8_sequences
from oracle.gbnf import parse
from oracle.random_grammars import random_case, random_texts

# A grammar, texts that are sentences, texts that are not.
KNOWN: dict[str, tuple[str, list[str], list[str]]] = {
    "left recursion": ('root ::= root "a" | "b"', ["b", "ba", "baaa"], ["", "a", "ab", "bab"]),
    "indirect left recursion": (
        'root ::= x "1" | "r"\nx ::= y "2" | "x"\ny ::= root "3" | x',
        ["r", "x1", "x21", "r321", "x2221", "r32132221"],
        ["", "x", "r1", "r31", "x12"],
    ),
    "left recursion behind a nullable rule": (
        'root ::= n root "b" | "a"\nn ::= "n"?',
        ["a", "ab", "nab", "nnabb", "abbb"],
        ["", "na", "nnab", "b"],
    ),
    "right recursion": ('root ::= "a" root | ""', ["", "a", "aaaaaa"], ["b", "ab"]),
    "ambiguous": ('root ::= root root | "a" | "b"', ["a", "ab", "abba"], ["", "c", "abc"]),
    "ambiguous and nullable": ('root ::= root root | "a" |', ["", "a", "aaaa"], ["b"]),
    "cycle of one": ('root ::= root | "a"', ["a"], ["", "aa"]),
    "cycle of two": ('root ::= x | "a"\nx ::= root | "(" root ")"', ["a", "(a)", "((a))"], ["", "()", "(a", "a)"]),
    "cycle through what is nullable": (
        'root ::= n root n | "a"\nn ::= "b"*',
        ["a", "ba", "ab", "bbabb"],
        ["", "bb", "aa"],
    ),
    "star of a star": ('root ::= (("a"* "b"?)* )* "c"', ["c", "aac", "bbac", "abababc"], ["", "a", "cc", "ca"]),
    "plus of what is empty": ('root ::= ""+ "a" (""* "b"{0})*', ["a"], ["", "ab", "aa"]),
    "palindromes": (
        'root ::= "a" root "a" | "b" root "b" | [ab]?',
        ["", "a", "aa", "aba", "abba", "babab"],
        ["ab", "abab", "aab"],
    ),
    "equal numbers": ('root ::= "a" root "b" | "c"', ["c", "acb", "aacbb"], ["", "ac", "acbb", "aacb"]),
    "dangling else": (
        'root ::= "i" root | "i" root "e" root | "s"',
        ["s", "is", "ises", "iises", "iiseses"],
        ["ses", "ie", "ise", "isees"],
    ),
    "alternatives that never end": ('root ::= "a" | x\nx ::= "a" x\ny ::= y', ["a"], ["", "aa"]),
    "exact bounds": (
        'root ::= "a"{2,4} "b"{3} "c"{1,}',
        ["aabbbc", "aaaabbbccc"],
        ["abbbc", "aaaaabbbc", "aabbc", "aabbb"],
    ),
    "bounds up to": ('root ::= "a"{,2}', ["", "a", "aa"], ["aaa"]),
    "bounds of a group": ('root ::= ("ab"? "c"){2}', ["cc", "abcc", "cabc", "abcabc"], ["c", "abc", "ccc", "ab"]),
    "nested bounds": ('root ::= ("a"{2}){2,3}', ["aaaa", "aaaaaa"], ["aa", "aaa", "aaaaa", "aaaaaaa"]),
    "bounds of what can be empty": ('root ::= ("a"?){3,5}', ["", "a", "aaaaa"], ["aaaaaa"]),
    "large exact bound": ('root ::= "a"{2001}', ["a" * 2001], ["a" * 2000, "a" * 2002]),
    "large bound": ('root ::= "a"{0,2001} "b"', ["a" * 2001 + "b", "b"], ["a" * 2002 + "b"]),
    "classes of many lengths": (
        "root ::= [a-\U0001f600]+",
        ["a\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0001f600"],
        ["", "`", "\U0001f601"],
    ),
    "negated class": (r"root ::= [^a\n\u00e9]+", ["b", "日", "\r", "\0", "e"], ["", "a", "\n", "é"]),
    "dot": ("root ::= . .", ["ab", "\n\n", "日é"], ["", "a", "é", "abc"]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name: str) -> None:
    text, accepted, rejected = KNOWN[name]
    grammar, oracle = glr.Grammar.from_gbnf(text), Recogniser(parse(text))
    for sentence in accepted:
        assert oracle.matches(sentence.encode()), sentence
        assert grammar.matches(sentence.encode()), sentence
    for sentence in rejected:
        assert not oracle.matches(sentence.encode()), sentence
        assert not grammar.matches(sentence.encode()), sentence


@pytest.mark.parametrize(
    "data", [b"\xc3", b"\xa9", b"\xff", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
)
def test_no_class_matches_what_is_not_utf8(data: bytes) -> None:
    for text in ("root ::= .+", "root ::= [^x]+", "root ::= [a-\U0010ffff]+"):
        assert not glr.Grammar.from_gbnf(text).matches(data)
        assert not Recogniser(parse(text)).matches(data)


def test_utf8_sequences_are_exact() -> None:
    """The one part of the oracle that is arithmetic, against Python's encoder."""
    rng = Random(0)
    edges = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    for _ in range(300):
        first = max(0, rng.choice(edges) - rng.randrange(100))
        last = min(0x10FFFF, first + rng.randrange(300))
        found = [
            bytes(data)
            for sequence in utf8_sequences(first, last)
            for data in itertools.product(*(range(low, high + 1) for low, high in sequence))
        ]
        wanted = [chr(c).encode() for c in range(first, last + 1) if not 0xD800 <= c < 0xE000]
        assert sorted(found) == sorted(wanted), (first, last)


@pytest.mark.parametrize("chunk", range(10))
def test_random_grammars(chunk: int) -> None:
    """Texts of the language, texts with a byte changed, and pieces of texts put together."""
    for seed in range(chunk * 10_000, chunk * 10_000 + 60):
        case = random_case(seed)
        try:
            oracle = Recogniser(parse(case.grammar), vocabulary=case.tokens)
        except NoSentence:
            continue
        if "<" in case.grammar:  # a token literal is no text
            continue
        grammar, rng = glr.Grammar.from_gbnf(case.grammar), Random(seed)
        texts = random_texts(rng, oracle, count=15, length=10)
        texts += [a[: rng.randrange(len(a) + 1)] + b[rng.randrange(len(b) + 1) :] for a, b in itertools.pairwise(texts)]
        for text in {b"", *texts}:
            assert grammar.matches(text) == oracle.matches(text), (case.describe(), text)
