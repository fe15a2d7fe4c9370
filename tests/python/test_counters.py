"""Counters in intersections: masks are exact far from their bounds and near them, and far ones cost one walk."""

from __future__ import annotations

import random
import time

import glrsampler as glr
import pytest
from glrsampler import Grammar

TOKENS = [b"a", b"b", b"c", b"ab", b"ba", b"bb", b"aab", b"abab", b"cccc", b"bbaa", b"acb", b"abcabcacb", b"b" * 20]
END = len(TOKENS)


def vocabulary() -> glr.Vocabulary:
    return glr.Vocabulary.from_tokens([*TOKENS, b""], [END], {END: "</s>"})


def counted(rng: random.Random) -> str:
    least = rng.choice((0, 1, 3, rng.randrange(60)))
    most = rng.choice(("", str(least + rng.randrange(80)), str(least)))
    if most == "0":
        most = "1"
    body = rng.choice(("[abc]", "[ab]", "(a|b|c)", "(ab?|c)", "(aa|b|c)", "(a|aa|b|c)", "([ab]c?)", "([abc]{2})"))
    tail = rng.choice(("", "", "", "c", "[ab]*", "(ac)?"))
    head = rng.choice(("", "", "a?", "(ab|c)"))
    return f"{head}{body}{{{least},{most}}}{tail}"


def free(rng: random.Random) -> str:
    return rng.choice(("(aa|b|c)*", "(ab|ba|c)*", ".*b", "(.*ab.*)", "[abc]*c[ab]{3}", "(aaa|[bc])*", "(a[bc]|[bc]a)*"))


def pattern(rng: random.Random) -> str:
    ahead = []
    for _ in range(rng.randrange(1, 4)):
        part = rng.choice((counted, counted, free))(rng)
        ahead.append(rng.choice((f"(?={part}$)", f"(?={part}$)", "(?!.*abab)", "(?!.*ccc)", f"(?!{part}$)")))
    return "".join(ahead) + rng.choice((counted, free))(rng)


def compare(text: str, rng: random.Random, *, walks: int, mode: str = "lazy") -> int:
    """How many masks were compared: with what commits take, which go by the exact counters."""
    grammar = Grammar.from_regex(text)
    try:
        masks = grammar.compile(vocabulary(), mode=mode)
        exact = grammar.compile(vocabulary())  # with an engine of its own
    except (glr.GrammarError, glr.BudgetError):
        return 0
    compared = 0
    for _ in range(walks):
        one, other = masks.matcher(), exact.matcher()
        for _ in range(90):
            allowed = set(one.allowed_tokens())
            expected = {t for t in range(END) if other.fork().try_commit(t)}
            if other.accepting:
                expected.add(END)
            assert allowed == expected, (text, one)
            compared += 1
            tokens = sorted(expected - {END})
            if not tokens:
                break
            token = rng.choice(tokens)
            one.commit(token)
            other.commit(token)
    return compared


@pytest.mark.parametrize("seed", range(60))
def test_masks_are_exact_near_and_far(seed: int) -> None:
    rng = random.Random(seed)
    compared = sum(compare(pattern(rng), rng, walks=2) for _ in range(6))
    assert compared > 0


@pytest.mark.parametrize(
    "text",
    [
        "(?=[abc]{10,70}$)(ab|c)*",  # a greatest number is far
        "(?=[abc]{60}$)(?!.*abab)[abc]*",  # a least number is far
        "(?=(aa|b|c){40,90}$)(?!.*ccc)[abc]*c",
        "(?=[abc]{50}$)(aa|b|c)*",  # even and odd: never relaxed while only a's are left
        "(?=a{51}$)(aa)*a",
        "(?=[abc]{30,60}$)[ab]{20,40}c*",  # two that are far
        "(?=(a|aa|b){30,60}$)[abc]{40,50}",
        "(?![abc]{0,50}$)[abc]{0,60}",  # in a complement
        "(?=a?(a|aa|b|c){40,42}[ab]*$)(?!.*ccc)(?=(ab|c)(a|b|c){55,55}[ab]*$)(aa|b|c)*",  # near for some tokens only
    ],
)
@pytest.mark.parametrize("mode", ["lazy", "eager"])
def test_masks_are_exact_for_each_kind_of_bound(text: str, mode: str) -> None:
    assert compare(text, random.Random(1), walks=12, mode=mode) > 0


@pytest.mark.parametrize("text", ["(?=[ -~]{10,3000}$)[a-z ]*", "(?=[a-z ]{2000}$)(?!.*xyz)[a-z ]*"])
def test_a_far_counter_costs_one_walk(text: str) -> None:
    """A count leaves its terms behind (1 kB), and 1 kB more with a walk of its own."""
    constraint = Grammar.from_regex(text).compile(vocabulary())
    matcher = constraint.matcher()
    for step in range(1500):
        assert matcher.allowed_count > 0
        matcher.commit_bytes(b"ab c"[step % 4 : step % 4 + 1])
    before = constraint.stats.bytes
    for step in range(400):
        assert matcher.allowed_count > 0
        matcher.commit_bytes(b"ab c"[step % 4 : step % 4 + 1])
    assert constraint.stats.bytes - before < 500_000


def test_a_long_token_does_not_bring_bounds_near() -> None:
    """Below most nodes of the trie tokens are short. One walk for each count took 600 times as long."""
    rng = random.Random(1)
    words = sorted({bytes(rng.choices(range(97, 123), k=rng.randrange(1, 7))) for _ in range(20_000)})

    def seconds(*more: bytes) -> float:
        tokens = [*words, *more]
        vocab = glr.Vocabulary.from_tokens([*tokens, b""], [len(tokens)], {len(tokens): "</s>"})
        matcher = Grammar.from_regex("[a-z]{0,60}").compile(vocab).matcher()
        matcher.mask()
        began = time.perf_counter()
        for _ in range(30):
            matcher.commit_bytes(b"a")
            matcher.mask()
        return time.perf_counter() - began

    ratios = [seconds(b"z" * 100) / seconds() for _ in range(3)]
    assert min(ratios) < 60
