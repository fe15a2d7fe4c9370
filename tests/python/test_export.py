"""Grammar.to_gbnf: GBNF of the same language, or an error that says what GBNF has no means for."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import glrsampler as glr
import pytest
from oracle.random_schemas import random_document

ADDRESS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
    "required": ["zip"],
}

SCHEMAS: list[Any] = [
    True,
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}, "ab": {"type": "null"}}},
    {"type": "object", "properties": {"a": ADDRESS, "b": {"items": ADDRESS}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b", "ab"]},
    {"type": "object", "properties": {"a": False, "b": {}}, "additionalProperties": {"type": "string"}},
    {"enum": ["é\n", 'a"b', 1.5, None, {"a": [1]}]},
    {"type": "string", "maxLength": 3},
    {"type": "string", "pattern": "^[a-c]{2,}(é|\U0001f600)?$"},
    {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"a": {"$ref": "#/$defs/t"}, "b": {}}, "type": "object"}}},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False, "minItems": 1},
    {"type": "number", "minimum": -1, "exclusiveMaximum": 3},
    {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]},
]


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_round_trip(number: int) -> None:
    grammar = glr.Grammar.from_json_schema(SCHEMAS[number])
    again = glr.Grammar.from_gbnf(grammar.to_gbnf())
    rng = Random(number)
    texts = [json.dumps(random_document(rng), ensure_ascii=False) for _ in range(300)]
    texts += ['{"a": {"zip": 1}}', '{"b": [{"city": "", "zip": 2}]}', '"aa"', '"abé"', '{"b": 1, "ab": 2}', "[1, true]"]
    texts += ['{"a": {"b": 1}, "b": {}}', '{"b": 1, "x": ""}', '"é\\n"', '"aaaa"', '"\\u00e9"', "[1]", "2.9", "3", "6"]
    admitted = [text for text in texts if grammar.matches(text)]
    assert admitted == [text for text in texts if again.matches(text)]
    assert 0 < len(admitted) < len(texts) or SCHEMAS[number] is True


def test_other_front_ends() -> None:
    text = 'root ::= "a" root | [b-d]{2,3} item?\nitem ::= "\\x00" | "é"\nunused ::= "x"\n'
    exported = glr.Grammar.from_gbnf(text).to_gbnf()
    assert "unused" not in exported
    assert glr.Grammar.from_gbnf(exported).to_gbnf() == exported
    assert glr.Grammar.from_gbnf(glr.Grammar.from_regex("a+(b|c)?").to_gbnf()).matches("aac")
    named = glr.Grammar.from_gbnf('start ::= "a" root\nroot ::= "b"', root="start").to_gbnf()
    assert glr.Grammar.from_gbnf(named).matches("ab")


@pytest.mark.parametrize(
    ("schema", "options", "what"),
    [
        ({"type": "object"}, {"property_order": "any"}, "members in any order"),
        ({"type": "object", "minProperties": 1}, {}, "members that are counted"),
        ({"type": "string", "minLength": 2, "pattern": "a"}, {}, "an intersection or a complement"),
    ],
)
def test_what_gbnf_cannot_say(schema: Any, options: Any, what: str) -> None:
    with pytest.raises(glr.GrammarError, match=f"{what} in GBNF"):
        glr.Grammar.from_json_schema(schema, **options).to_gbnf()
