"""Terminals that match longest: masks and commits against brute force, and cases that were got wrong elsewhere."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random

import glrsampler as glr
import pytest
from oracle.compare import random_lexer_walks
from oracle.longest_match import matches
from oracle.random_terminals import random_case

CHUNKS = 12
CASES = 144


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_walks(chunk: int) -> None:
    for seed in range(1_000_000 * chunk, 1_000_000 * chunk + CASES // CHUNKS):
        case, reader = random_case(seed)
        random_lexer_walks(case, reader, walks=1)


@pytest.mark.parametrize("seed", range(12))
def test_the_two_oracles_agree(seed: int) -> None:
    case, reader = random_case(seed)
    for size in range(5):
        for letters in itertools.product(reader.alphabet, repeat=size):
            text = bytes(letters)
            wanted = matches(reader.rules, text)
            assert reader.read(reader.initial, text).accepting == wanted, (case.grammar, text)
            assert glr_matches(case.grammar, text) == wanted, (case.grammar, text)


def glr_matches(grammar: str, text: bytes) -> bool:
    try:
        return glr.Grammar.from_lark(grammar).matches(text)
    except glr.GrammarError:  # no sentence
        return False


# Grammar, what it accepts, what it does not.
CASES_BY_HAND = [
    ("start: L+\nL: /[^;]*;/", ["a;", "a;b;", ";"], ["", "a;b", "a"]),
    ('start: "ab" " x" "c"\n%ignore / +/', ["ab xc", "ab x  c"], ["ab  xc", "abxc", "ab x"]),
    ("start: A A | B\nA: /a+/\nB: /b/", ["b"], ["aa", "a", "aaa"]),
    ("start: A B\nA: /a+/\nB: /a*b/", ["ab", "aab"], ["b", "aaa"]),
    ("start: A B C\nA: /x(yz)?/\nB: /y/\nC: /[zw]/", ["xyw", "xyzyz"], ["xyz", "xyzy"]),
    ("start: A B C\nA: /x(yz)?/\nB: /y?/\nC: /[zw]/", ["xyw", "xz", "xw", "xyzyz", "xyzw"], ["xyz"]),
    ('start: PLUS PLUS "c"\nPLUS: "+" | "++"', ["+++c", "++++c"], ["++c", "+c"]),
    # A literal ends freely beside a terminal that does not.
    ('start: r | "b"\nr: T ("bba" start)*\nT: /b*/', ["bbabbbab", "bba", "", "bb"], ["bbabbbba", "ba"]),
    ('start: "let" NAME\nNAME: /[a-z]+/', ["letx", "letletter"], ["let", "let x"]),
    ('start: x x "c"\nx: "a" | "aa"', ["aac", "aaac", "aaaac"], ["ac"]),
    ("start: A? B\nA: /(ab)*/\nB: /a.*/", ["a", "abab", "ababa", "abax"], ["", "b"]),
    ('start: e\ne: e "+" e | NUMBER\nNUMBER: /[0-9]+(\\.[0-9]+)?/', ["1", "1.5+2", "12+3+4.25"], ["1.", "1.5.5", "+"]),
    ("start: WORD (SPACE WORD)*\nWORD: /\\w+/\nSPACE: /\\s+/", ["é a", "名前 \u3000名"], ["a  ", " a"]),
]


@pytest.mark.parametrize(("grammar", "accepted", "rejected"), CASES_BY_HAND)
def test_what_is_a_sentence(grammar: str, accepted: list[str], rejected: list[str]) -> None:
    compiled = glr.Grammar.from_lark(grammar)
    for text in accepted:
        assert compiled.matches(text), text
    for text in rejected:
        assert not compiled.matches(text), text


class Run:
    """A matcher over single bytes and some longer tokens."""

    def __init__(self, grammar: str, *texts: bytes) -> None:
        self.tokens = [bytes((b,)) for b in range(256)] + list(texts)
        self.vocabulary = bytes_and(*texts)
        self.constraint = glr.Grammar.from_lark(grammar).compile(self.vocabulary)
        self.matcher = self.constraint.matcher()

    def commit(self, *tokens: bytes) -> Run:
        for token in tokens:
            self.matcher.commit(self.tokens.index(token))
        return self

    def allowed(self) -> set[bytes]:
        return {self.tokens[t] for t in map(int, self.matcher.allowed_tokens()) if t < len(self.tokens)}


def bytes_and(*texts: bytes) -> glr.Vocabulary:
    tokens = [bytes((b,)) for b in range(256)] + list(texts) + [b"<end>"]
    return glr.Vocabulary.from_tokens(tokens, end_tokens=[len(tokens) - 1])


@pytest.mark.parametrize(
    "grammar", ["start: A A\nA: /a+/", "start: s\ns: s A A | A A\nA: /a+/", "start: A A B\nA: /(ab?)+/\nB: /b/"]
)
def test_no_sentence_is_left(grammar: str) -> None:
    with pytest.raises(glr.GrammarError, match="no text is a sentence"):
        glr.Grammar.from_lark(grammar).compile(bytes_and())


def test_how_the_text_was_cut_does_not_matter() -> None:
    grammar, longer = 'start: "ab" " x" "c"\n%ignore / +/', (b"ab ", b"  x", b" xc", b"  ", b"b ")
    assert Run(grammar, *longer).commit(b"a", b"b").allowed() == {b" ", b" xc"}
    for pieces in ((b"a", b"b", b" "), (b"ab ",), (b"a", b"b ")):
        run = Run(grammar, *longer).commit(*pieces)
        assert run.allowed() == {b"x"}  # another blank would make the first one longer, and ` x` needs one of its own
        assert run.commit(b"x").allowed() == {b"c", b" ", b"  "}


def test_an_end_is_withdrawn_by_the_next_byte() -> None:
    run = Run("start: A B\nA: /x(yz)?/\nB: /y.*/", b"xy", b"yz", b"zq", b"zy")
    assert run.commit(b"xy").matcher.accepting
    assert not run.commit(b"z").matcher.accepting
    assert run.allowed() == {b"y", b"yz"}


def test_a_mask_knows_that_nothing_will_be_left() -> None:
    """`)` may be followed by `z` alone: a second A only makes the first one longer."""
    grammar = 'start: "(" start ")" last | "x"\nlast: A A | "z"\nA: /a+/'
    run = Run(grammar, b")a", b")z", b"(a").commit(b"(", b"(", b"x")
    assert run.allowed() == {b")", b")z"}
    assert run.commit(b")").allowed() == {b"z"}


def test_what_follows_a_rule_counts() -> None:
    """Inside brackets an A may end the list; outside, where another follows, it may not."""
    grammar = 'start: list A | "x"\nlist: "[" list A "]" | A "b" | A\nA: /a+/'
    run = Run(grammar, b"aa", b"ab", b"a]", b"b]").commit(b"[", b"a")
    assert run.allowed() == {b"a", b"aa", b"b", b"ab"}
    assert run.commit(b"b").allowed() == {b"a", b"aa", b"a]"}


def test_a_terminal_with_an_exponential_automaton_is_cheap() -> None:
    run = Run('start: T (";" T)*\nT: /(a|b)*a(a|b){16}/', b"ab" * 8, b"a" * 17)
    rng = Random(1)
    for _ in range(400):
        run.commit(rng.choice((b"a", b"b")))
        assert run.allowed() >= {b"a", b"b"}
    assert run.constraint.stats.bytes < 64 << 20


def test_ambiguity_does_not_grow() -> None:
    run = Run('start: e\ne: e "+" e | NAME\nNAME: /z+/\n%ignore / +/', b"zz + ")
    run.commit(*([b"zz + "] * 2000))
    assert run.allowed() == {b"z", b" ", b"zz + "}


def test_a_whole_token_ends_a_guard() -> None:
    tokens = [b"a", b"b", b"", b"<end>"]
    vocabulary = glr.Vocabulary.from_tokens(tokens, end_tokens=[3], special_tokens={2: "<cut>"})
    constraint = glr.Grammar.from_lark("start: A <cut> A A? B\nA: /a+/\nB: /b/").compile(vocabulary)
    matcher = constraint.matcher()
    for token in (0, 0, 2, 0, 0):
        matcher.commit(token)
    assert set(map(int, matcher.allowed_tokens())) == {0, 1}


def test_token_literals_where_nothing_would_be_left() -> None:
    tokens = [b"a", b"b", b"", b"", b"<end>"]
    vocabulary = glr.Vocabulary.from_tokens(tokens, end_tokens=[4], special_tokens={2: "<dead>", 3: "<live>"})
    constraint = glr.Grammar.from_lark("start: B (<dead> A A | <live> A)\nA: /a+/\nB: /b/").compile(vocabulary)
    matcher = constraint.matcher()
    matcher.commit(1)
    assert set(map(int, matcher.allowed_tokens())) == {3}
    assert not matcher.fork().try_commit(2)


@pytest.mark.parametrize("mode", ["lazy", "eager", "background"])
@pytest.mark.parametrize("grammar", [g for g, _, _ in CASES_BY_HAND])
def test_saved_constraints_have_the_same_masks(grammar: str, mode: str, tmp_path: Path) -> None:
    vocabulary = bytes_and(b"aa", b"ab", b" x", b"+1", b"yz", b"; ", b"a b")
    compiled = glr.Grammar.from_lark(grammar).compile(vocabulary, mode=mode)  # type: ignore[arg-type]  # of the list
    fresh = glr.Grammar.from_lark(grammar).compile(vocabulary)
    rng = Random(grammar)

    def walk(one: glr.Matcher, other: glr.Matcher) -> None:
        for _ in range(12):
            assert one.mask().tolist() == other.mask().tolist()
            options = [int(t) for t in one.allowed_tokens() if int(t) != len(vocabulary) - 1]
            if not options:
                break
            token = rng.choice(options)
            one.commit(token)
            other.commit(token)

    walk(compiled.matcher(), fresh.matcher())
    compiled.save(tmp_path / "c")
    walk(glr.Constraint.load(tmp_path / "c", vocabulary).matcher(), fresh.matcher())
