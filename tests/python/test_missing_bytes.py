"""Grammars over vocabularies in which some byte stands in no token."""

from __future__ import annotations

import glrsampler as glr
import pytest


@pytest.mark.parametrize(
    ("grammar", "byte", "rule", "place"),
    [
        ('root ::= "ab1"', "0x31 (1)", "root", (1, 10)),
        ('root ::= "a" digit\ndigit ::= [0-9]', "0x30 (0)", "digit", (2, 11)),
        ('root ::= "a" ("1" | x)\nx ::= "é"', "0x31 (1)", "root", (1, 15)),
        ('root ::= ("a" | "1" "b") "\\n"', "0x0A", "root", (1, 26)),
        ('root ::= "a" tail\ntail ::= "b" tail | "日"', "0xE6", "tail", (2, 21)),
    ],
)
def test_no_sentence_can_be_written(
    letters: glr.Vocabulary, grammar: str, byte: str, rule: str, place: tuple[int, int]
) -> None:
    read = glr.Grammar.from_gbnf(grammar)
    for mode in ("lazy", "eager", "background"):
        with pytest.raises(glr.GrammarError) as error:
            read.compile(letters, mode)
        assert f"the byte {byte}, which the rule '{rule}' needs" in str(error.value)
        assert (error.value.line, error.value.column) == place
        assert error.value.reason is glr.Reason.GRAMMAR


def test_one_sentence_that_can_be_written_is_enough(letters: glr.Vocabulary) -> None:
    """Masks are those of the language: text that is given may hold what no token does."""
    matcher = glr.Grammar.from_gbnf('root ::= "x" ("ab1" | "ac")').compile(letters).matcher()
    matcher.commit_bytes("xa")
    assert [chr(97 + t) for t in matcher.allowed_tokens()] == ["b", "c"]
    matcher.commit_bytes("b")
    assert matcher.allowed_count == 0
    matcher.commit_bytes("1")
    assert matcher.accepting


def test_a_byte_inside_a_longer_token_is_not_missing(letters: glr.Vocabulary) -> None:
    vocabulary = glr.Vocabulary.from_tokens([b"a", b"1x"], [2])
    matcher = glr.Grammar.from_gbnf('root ::= "a1x"').compile(vocabulary).matcher()
    assert matcher.allowed_tokens().tolist() == [0]


def test_a_real_vocabulary_lacks_nothing(vocabulary: glr.Vocabulary) -> None:
    for char in ("\t", "\x01", "é", "日", "🦊", "\U0010ffff"):
        glr.Grammar.from_gbnf(f'root ::= "\\U{ord(char):08x}"').compile(vocabulary)
