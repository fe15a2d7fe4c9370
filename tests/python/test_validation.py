"""validate, source_spans, and strings that are pieces of a source document."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import glrsampler as glr
import pytest

END = 256
BYTES = glr.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), b""], [END], {END: "</s>"})

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "maximum": 150}},
    "required": ["name"],
    "if": {"properties": {"age": {"minimum": 18}}, "required": ["age"]},
    "then": {"required": ["consent"]},
}

# A text, and the (pointer, rule) of what is wrong with it.
TEXTS: list[tuple[str, list[tuple[str, str]]]] = [
    ('{"name": "a"}', []),
    ('{"name": "a", "age": 17}', []),
    ('{"name": "a", "age": 18, "consent": true}', []),
    ('{"name": "a", "age": 18}', [("", "#/then/required")]),
    ('{"age": 151}', [("", "#/required"), ("", "#/then/required"), ("/age", "#/properties/age/maximum")]),
    ('{"name": "", "age": 1.5}', [("/age", "#/properties/age/type"), ("/name", "#/properties/name/minLength")]),
    ('{"name": "a", "age": 1.0}', []),
    ('{"name": "a", "name": "b"}', [("/name", "duplicate key")]),
    ('{"name": "a"', [("", "json")]),
    ('{"age": NaN}', [("", "json")]),
    ("[" * 100_000, [("", "json")]),
]


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_violations(number: int) -> None:
    text, expected = TEXTS[number]
    found = glr.validate(text, PERSON)
    assert [(v.pointer, v.rule) for v in found] == expected
    assert all(v.message for v in found)
    assert glr.validate(text.encode(), json.dumps(PERSON)) == found


def test_pointers_are_escaped() -> None:
    schema = {"properties": {"a/b~": {"items": {"type": "null"}}}}
    (violation,) = glr.validate('{"a/b~": [null, 1]}', schema)
    assert (violation.pointer, violation.rule) == ("/a~1b~0/1", "#/properties/a~1b~0/items/type")


def test_numbers_are_decimals() -> None:
    hundredths = {"type": "number", "multipleOf": 0.01}
    assert glr.validate("0.07", hundredths) == []
    assert [v.rule for v in glr.validate("0.075", hundredths)] == ["#/multipleOf"]
    assert [v.rule for v in glr.validate("9007199254740993", {"maximum": 9007199254740992})] == ["#/maximum"]
    assert glr.validate("1e400", {"minimum": 1}) == []
    assert [v.rule for v in glr.validate("1e999999", {"multipleOf": 0.1})] == ["json"]


QUOTE = {"type": "string", "x-source-span": True}
SOURCE = 'Der Bär sagt "größer",\ndann sagt er nichts.'


def admits(grammar: glr.Grammar, text: str) -> bool:
    """By the recogniser and byte by byte by the masks."""
    matcher = grammar.compile(BYTES).matcher()
    by_masks = all(matcher.try_commit(byte) for byte in text.encode()) and matcher.accepting
    assert grammar.matches(text) == by_masks
    return by_masks


def test_strings_are_pieces_of_the_source() -> None:
    grammar = glr.Grammar.from_json_schema(QUOTE, source=SOURCE)
    for piece in ("", "D", "Bär sagt", "größer", '"größer",\ndann', SOURCE):
        assert admits(grammar, json.dumps(piece, ensure_ascii=False)), piece
        assert admits(grammar, json.dumps(piece)), piece
    for other in ("Bar", "sagt er nicht.", "Bär  sagt", SOURCE + "x", "ä r"):
        assert not admits(grammar, json.dumps(other, ensure_ascii=False)), other


def test_every_substring_and_no_other() -> None:
    rng = Random(5)
    for _ in range(30):
        source = "".join(rng.choice("abä") for _ in range(rng.randrange(12)))
        grammar = glr.Grammar.from_json_schema(QUOTE, source=source)
        for _ in range(60):
            text = "".join(rng.choice("abä") for _ in range(rng.randrange(5)))
            assert grammar.matches(json.dumps(text, ensure_ascii=False)) == (text in source), (source, text)


def test_source_spans_beside_other_keywords() -> None:
    schema = {"x-source-span": True, "type": "string", "minLength": 3, "pattern": "^s", "not": {"const": "sagt"}}
    grammar = glr.Grammar.from_json_schema(schema, source=SOURCE)
    assert admits(grammar, '"sagt er"')
    assert not admits(grammar, '"sa"')
    assert not admits(grammar, '"sagt"')
    assert not admits(grammar, '"Bär"')
    outside = glr.Grammar.from_json_schema({"type": "string", "not": QUOTE}, source="ab")
    assert [admits(outside, f'"{text}"') for text in ("", "a", "ab", "b", "ba", "aa")] == [False] * 4 + [True] * 2
    known = glr.Grammar.from_json_schema({**QUOTE, "enum": ["sagt", "nichts.", "alles"]}, source=SOURCE)
    assert [admits(known, f'"{text}"') for text in ("sagt", "nichts.", "alles")] == [True, True, False]
    open_value = glr.Grammar.from_json_schema({"properties": {"q": {"x-source-span": True}}}, source="ab")
    assert admits(open_value, '{"q": 1, "r": "anything"}')


def test_a_long_source() -> None:
    rng = Random(2)
    source = " ".join("".join(rng.choice("abcdefgh") for _ in range(5)) for _ in range(3_000))
    grammar = glr.Grammar.from_json_schema({"type": "array", "items": QUOTE}, source=source)
    assert grammar.matches(json.dumps([source[1_000:9_000], source[5:10]]))
    assert not grammar.matches(json.dumps([source[5:10] + "x"]))


def test_the_source_is_needed_and_known() -> None:
    with pytest.raises(glr.SchemaError, match="source"):
        glr.Grammar.from_json_schema(QUOTE)
    grammar = glr.Grammar.from_json_schema(QUOTE, source=SOURCE)
    assert (grammar.kind, grammar.document) == ("json_schema", SOURCE)
    assert grammar.fingerprint != glr.Grammar.from_json_schema(QUOTE, source=SOURCE + "!").fingerprint
    assert glr.Grammar.from_json_schema({"x-source-span": False}).document is None


def test_spans_are_found_again() -> None:
    schema: Any = {"type": "array", "items": {"anyOf": [{"type": "integer"}, QUOTE]}}
    text = json.dumps([1, "sagt", "größer", "no such"])
    assert glr.source_spans(text, schema, SOURCE) == {"/1": (8, 12), "/2": (14, 20)}
    assert [v.pointer for v in glr.validate(text, schema, source=SOURCE)] == ["/3"]
    assert glr.validate(text, schema) == []


@pytest.mark.parametrize(
    ("text", "schema", "rules"),
    [
        ('"AB"', {"type": "string", "pattern": "^\\p{Lu}+$"}, []),
        ('"a\\n"', {"pattern": "^a$"}, ["#/pattern"]),
        ('"' + "a" * 40 + 'b"', {"pattern": "^(a+)+$"}, ["#/pattern"]),
        ('["a"]', {"items": [{"type": "string"}]}, []),
        ("[1]", {"items": [{"type": "string"}]}, ["#/items/0/type"]),
        ("null", {"type": "string", "nullable": True}, []),
        ("4", {"maximum": 5, "exclusiveMaximum": True}, []),
        ("5", {"maximum": 5, "exclusiveMaximum": True}, ["#/maximum"]),
        ("5", {"exclusiveMaximum": 5}, ["#/exclusiveMaximum"]),
        ('{"a":1}', {"dependencies": {"a": ["b"]}}, ["#/dependencies"]),
        ('{"\u2028":1}', {"patternProperties": {".": {"type": "null"}}}, []),
        ('{"ab":1}', {"patternProperties": {"^a": {"type": "null"}}}, ["#/patternProperties/^a/type"]),
        ('{"x":1,"y":2}', {"properties": {"x": {}}, "additionalProperties": False}, ["#/additionalProperties"]),
        ("1" * 5000, {"type": "integer"}, []),
        ("1e99999999999999999999", {"type": "number"}, ["json"]),
    ],
)
def test_keywords_are_read_as_the_grammar_reads_them(text: str, schema: Any, rules: list[str]) -> None:
    assert [v.rule for v in glr.validate(text, schema)] == rules


@pytest.mark.parametrize("schema", [{"type": "integr"}, {"minimum": "x"}, {"$ref": "#/nowhere"}])
def test_a_schema_that_is_none_is_a_schema_error(schema: Any) -> None:
    with pytest.raises(glr.SchemaError, match="cannot be checked with"):
        glr.validate("1", schema)
