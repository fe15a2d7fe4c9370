"""JSON Schemas: tables of documents by keyword, options, refusals, and a comparison with the package jsonschema."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import glrsampler as glr
import jsonschema
import pytest
from oracle.random_schemas import orders, random_document, random_schema, spelled

END = 256
BYTES = glr.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), b""], [END], {END: "</s>"})


def masks_admit(constraint: glr.Constraint, text: bytes) -> bool:
    """Byte by byte, each looked up in the mask; at the end the mask must agree with `accepting`."""
    matcher = constraint.matcher()
    for byte in text:
        mask = matcher.mask()
        admitted = bool(int(mask[byte >> 5]) >> (byte & 31) & 1)
        assert matcher.try_commit(byte) == admitted, text
        if not admitted:
            return False
    assert matcher.allows(END) == matcher.accepting
    return matcher.accepting


def check(schema: Any, accepted: list[str], rejected: list[str], **options: Any) -> None:
    grammar = glr.Grammar.from_json_schema(schema, **options)
    constraint = grammar.compile(BYTES)
    for texts, due in ((accepted, True), (rejected, False)):
        for text in texts:
            assert grammar.matches(text) == due, text
            assert masks_admit(constraint, text.encode()) == due, text


# A schema, documents that meet it, documents that do not. In Python's spelling of JSON: '...' are the texts.
KEYWORDS: dict[str, tuple[Any, list[str], list[str]]] = {
    "true": (
        True,
        ["1", "null", '{"a": [{}]}', '"\\u00e9\\n"'],
        ["", "[1,]", "{a: 1}", "01", "'a'", '"\n"', "+1", ".5", "NaN"],
    ),
    "empty": ({}, ["0", "-0", "1e5", "1.5E-3", "[]", "[[[]]]"], ["1.", "-", "1e", "[", "tru"]),
    "type integer": (
        {"type": "integer"},
        ["0", "-1", "123456789012345678901234567890"],
        ["1.0", "1.5", "1e2", '"1"', "00"],
    ),
    "type number": ({"type": "number"}, ["0", "-1.50", "1e2", "1E+2", "0.0"], ["1.", "true", '"1"', "-"]),
    "type string": (
        {"type": "string"},
        ['""', '"é"', '"\\u00e9"', '"\\/"', '"\\ud83d\\ude00"', '"日"'],
        ["a", '"', '"\\x"', '"\\ud83d"', '"\t"'],
    ),
    "type boolean": ({"type": "boolean"}, ["true", "false"], ["null", "True", "0", ""]),
    "type null": ({"type": "null"}, ["null"], ["false", "nul", "0"]),
    "type array": ({"type": "array"}, ["[]", '[1, "a", null, [], {}]'], ["{}", "[1,,2]", "[1 2]"]),
    "type object": ({"type": "object"}, ["{}", '{"a": 1, "b": {"c": []}}'], ["[]", '{"a"}', '{"a": 1,}', "{1: 2}"]),
    "type list": ({"type": ["integer", "null"]}, ["1", "null"], ["1.5", '"a"']),
    "nullable": ({"type": "string", "nullable": True}, ["null", '"a"'], ["1"]),
    "enum": (
        {"enum": ["a", 1, None, True, 2.5, [1, {"k": "v"}], {"x": 1, "y": []}]},
        ['"a"', "1", "null", "true", "2.5", '[1, {"k": "v"}]', '{"x": 1, "y": []}'],
        ['"b"', "2", "false", "[1]", "[1, {}]", '{"x": 1}', '{"y": [], "x": 1}', '{"x": 1, "y": [], "z": 2}'],
    ),
    "enum in Unicode": (
        {"enum": ["é", "日本", "😀", '"\\\n\u0001']},
        ['"é"', '"日本"', '"😀"', '"\\"\\\\\\n\\u0001"'],
        ['"\\u00e9"', '"e"', '"日"'],
    ),
    "const": ({"const": {"a": [1.5, "x"]}}, ['{"a": [1.5, "x"]}', '{"a":[1.5,"x"]}'], ['{"a": [1.5]}', "{}", "1.5"]),
    "const and enum": ({"const": 1, "enum": [1, 2]}, ["1"], ["2"]),
    "minLength": (
        {"type": "string", "minLength": 2},
        ['"ab"', '"日本"', '"\\u65e5b"', '"\\ud83d\\ude00b"', '"\\n\\n"'],
        ['""', '"a"', '"\\ud83d\\ude00"', '"😀"'],
    ),
    "maxLength": ({"type": "string", "maxLength": 2}, ['""', '"ab"', '"😀😀"'], ['"abc"', '"\\u0061bc"']),
    "length of other types": ({"minLength": 2}, ["1", "null", "[]"], ['"a"']),
    "pattern": (
        {"type": "string", "pattern": "^a|b$"},
        ['"a"', '"ax"', '"xb"', '"\\u0061"'],
        ['"x"', '"xa"', '"bx"', '""'],
    ),
    "pattern searched": ({"type": "string", "pattern": "b+c"}, ['"bc"', '"abbcd"'], ['"b"', '"cb"', '""']),
    "pattern of classes": (
        {"type": "string", "pattern": "^\\w\\d\\s[^x-z]$"},
        ['"a1 b"', '"_0\\ta"'],
        ['"a1 x"', '"é1 b"', '"a1b"'],
    ),
    "pattern of properties": ({"type": "string", "pattern": "^\\p{Lu}\\p{L}*$"}, ['"Éa"', '"Z"'], ['"éa"', '"Z1"']),
    "pattern with look-ahead": (
        {"type": "string", "pattern": "^(?!ab)(?=.*c)[a-c]+$"},
        ['"c"', '"bc"', '"acb"'],
        ['"abc"', '"a"', '""'],
    ),
    "pattern and length": (
        {"type": "string", "pattern": "^a+$", "minLength": 2, "maxLength": 3},
        ['"aa"', '"aaa"'],
        ['"a"', '"aaaa"', '"ab"'],
    ),
    "minimum": (
        {"type": "integer", "minimum": -5},
        ["-5", "-4", "0", "12345678901234567890"],
        ["-6", "-10", "-12345678901"],
    ),
    "maximum": ({"type": "integer", "maximum": 150}, ["150", "99", "-1000"], ["151", "1000", "200"]),
    "bounds of numbers": (
        {"type": "number", "minimum": -1.5, "exclusiveMaximum": 10},
        ["-1.5", "-1.49", "0", "9.999", "1e0", "9.9e0", "-0.0", "1e-7"],
        ["-1.51", "-2", "10", "10.0", "1e1", "-1.6e0", "1.1e1"],
    ),
    "exclusive bounds of draft 4": (
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        ["2", "10"],
        ["1", "0", "-2"],
    ),
    "bounds beyond doubles": (
        {"type": "integer", "minimum": 9007199254740993},
        ["9007199254740993", "10000000000000000"],
        ["9007199254740992"],
    ),
    "multipleOf": ({"type": "integer", "multipleOf": 7}, ["0", "7", "-14", "700", "21"], ["1", "8", "22"]),
    "multipleOf of fractions": (
        {"type": "number", "multipleOf": 0.01},
        ["0.01", "1.10", "5", "1.100", "-0.3"],
        ["0.001", "1.115"],
    ),
    "multiples within bounds": (
        {"type": "integer", "multipleOf": 5, "minimum": 8, "maximum": 31},
        ["10", "15", "30"],
        ["5", "35", "8", "31", "100"],
    ),
    "int32": ({"type": "integer", "format": "int32"}, ["2147483647", "-2147483648"], ["2147483648", "-2147483649"]),
    "int64": ({"type": "integer", "format": "int64"}, ["9223372036854775807"], ["9223372036854775808"]),
    "properties": (
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
        ["{}", '{"a": 1}', '{"b": "x"}', '{"a": 1, "b": "x", "c": []}', '{"aa": null}', '{"": 1}'],
        ['{"a": "x"}', '{"b": 1}', '{"a": 1, "a": 2}', '{"c": 1, "a": "x"}'],
    ),
    "required": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b", "z"]},
        ['{"b": 1, "z": 2}', '{"a": 0, "b": 1, "z": 2, "y": 3}'],
        ["{}", '{"a": 1}', '{"b": 1}', '{"z": 1}'],
    ),
    "additionalProperties false": (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        ["{}", '{"a": 1}'],
        ['{"b": 1}', '{"a": 1, "b": 1}'],
    ),
    "additionalProperties schema": (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
        ['{"a": "x", "b": 1}', '{"ab": 1, "b": 2}'],
        ['{"b": "x"}', '{"a": 1, "b": null}'],
    ),
    "patternProperties": (
        {
            "type": "object",
            "patternProperties": {"^x": {"type": "integer"}, "y$": {"minimum": 5}},
            "additionalProperties": False,
        },
        ["{}", '{"x": 1}', '{"xy": 5}', '{"y": "s"}', '{"x1": 0, "ay": 7}'],
        ['{"x": "s"}', '{"xy": 4}', '{"xy": "s"}', '{"a": 1}'],
    ),
    "patternProperties of a property": (
        {"type": "object", "properties": {"ax": {"maximum": 3}}, "patternProperties": {"x": {"type": "integer"}}},
        ['{"ax": 3}', '{"bx": 9}', '{"c": "s"}'],
        ['{"ax": 4}', '{"ax": 1.5}', '{"bx": "s"}'],
    ),
    "propertyNames": (
        {"type": "object", "propertyNames": {"minLength": 2, "pattern": "^a"}},
        ["{}", '{"ab": 1}', '{"aa": 1, "abc": 2}'],
        ['{"a": 1}', '{"bb": 1}'],
    ),
    "propertyNames enum": (
        {"type": "object", "propertyNames": {"enum": ["a", "b"]}},
        ['{"a": 1}', '{"b": 1, "a": 2}'],
        ['{"c": 1}'],
    ),
    "minProperties and maxProperties": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 2, "maxProperties": 3},
        ['{"a": 1, "b": 2}', '{"a": 1, "z": 2}', '{"x": 1, "y": 2, "z": 3}'],
        ["{}", '{"a": 1}', '{"a": 1, "b": 2, "c": 3, "d": 4}'],
    ),
    "dependentRequired": (
        {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
        ["{}", '{"b": 1}', '{"a": 1, "b": 2}', '{"c": 1}'],
        ['{"a": 1}', '{"a": 1, "c": 2}'],
    ),
    "dependentSchemas": (
        {
            "type": "object",
            "properties": {"a": {}, "b": {}},
            "dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}},
        },
        ['{"b": 1}', '{"a": 1}', '{"a": 1, "b": null}'],
        ['{"a": 1, "b": 2}'],
    ),
    "dependencies": (
        {
            "type": "object",
            "properties": {"a": {}, "b": {}, "c": {}},
            "dependencies": {"a": ["b"], "c": {"maxProperties": 1}},
        },
        ['{"c": 1}', '{"a": 1, "b": 2}'],
        ['{"a": 1}', '{"b": 1, "c": 2}'],
    ),
    "items": ({"type": "array", "items": {"type": "integer"}}, ["[]", "[1]", "[1, 2, 3]"], ['["a"]', "[1, null]"]),
    "items as a list": (
        {"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False},
        ["[]", "[1]", '[1, "a"]'],
        ['["a"]', "[1, 2]", '[1, "a", 3]'],
    ),
    "additionalItems": (
        {"type": "array", "items": [{}], "additionalItems": {"type": "null"}},
        ["[]", "[1]", "[1, null, null]"],
        ["[1, 2]"],
    ),
    "prefixItems": (
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        ["[]", "[1]", '[1, "a", "b"]'],
        ['["a"]', "[1, 2]"],
    ),
    "minItems and maxItems": ({"type": "array", "minItems": 1, "maxItems": 2}, ["[1]", "[1, 2]"], ["[]", "[1, 2, 3]"]),
    "contains": (
        {"type": "array", "contains": {"type": "string"}},
        ['["a"]', '[1, "a", 2]', '["a", "b"]'],
        ["[]", "[1, 2]"],
    ),
    "maxContains": (
        {"type": "array", "contains": {"type": "string"}, "minContains": 0, "maxContains": 1},
        ["[]", "[1]", '[1, "a", 2]'],
        ['["a", "b"]', '["a", 1, "b"]'],
    ),
    "uniqueItems": (
        {"type": "array", "items": {"enum": ["x", "y", 1]}, "uniqueItems": True},
        ["[]", '["y", "x", 1]'],
        ['["x", "x"]', '[1, "y", 1]', '["z"]'],
    ),
    "uniqueItems of at most one": ({"type": "array", "uniqueItems": True, "maxItems": 1}, ["[]", "[{}]"], ["[1, 2]"]),
    "allOf": ({"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 5}]}, ["3", "5"], ["2", "6", "3.5"]),
    "allOf of objects": (
        {
            "allOf": [
                {"properties": {"a": {"minimum": 1}}, "required": ["a"]},
                {"properties": {"a": {"type": "integer"}, "b": {"type": "null"}}},
            ],
            "type": "object",
        },
        ['{"a": 1}', '{"a": 2, "b": null}'],
        ["{}", '{"a": 0}', '{"a": 1.5}', '{"a": 1, "b": 1}'],
    ),
    "anyOf": ({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 5}]}, ['"a"', "5"], ["4", "null"]),
    "oneOf": (
        {"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 10}]},
        ["4", "11", "-100"],
        ["5", "7", "10", '"x"'],
    ),
    "oneOf of required": (
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ['{"a": 1}', '{"b": 1}', '{"a": 1, "c": 2}'],
        ["{}", '{"a": 1, "b": 2}', '{"c": 1}'],
    ),
    "not a type": ({"not": {"type": ["string", "number"]}}, ["null", "{}", "[]", "true"], ['"a"', "1", "1.5"]),
    "not a value": (
        {"type": "string", "not": {"enum": ["a", "bc"]}},
        ['""', '"b"', '"aa"', '"bcd"'],
        ['"a"', '"bc"', '"\\u0061"', "1"],
    ),
    "not a pattern": ({"type": "string", "not": {"pattern": "a"}}, ['""', '"b"'], ['"a"', '"bab"', '"\\u0061"']),
    "not a multiple": ({"type": "integer", "not": {"multipleOf": 3}}, ["1", "2", "-4", "100"], ["0", "3", "-6", "99"]),
    "not of properties": (
        {
            "type": "object",
            "not": {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "integer"}},
        },
        ['{"a": "s"}', '{"a": 1, "b": null}', '{"b": 1, "c": "d"}'],
        ["{}", '{"a": 1}', '{"b": 1}'],
    ),
    "not not": ({"not": {"not": {"type": "integer"}}}, ["1"], ["1.5", '"a"']),
    "one member for several negations": (
        {
            "type": "object",
            "maxProperties": 1,
            "allOf": [{"not": {"patternProperties": {"a": False}}}, {"not": {"patternProperties": {"b": False}}}],
        },
        ['{"ab": 1}', '{"cba": 1}'],
        ["{}", '{"a": 1}', '{"b": 1}', '{"a": 1, "b": 2}'],
    ),
    "if then else": (
        {
            "type": "object",
            "if": {"properties": {"k": {"const": "a"}}, "required": ["k"]},
            "then": {"required": ["x"]},
            "else": {"required": ["y"]},
        },
        ['{"k": "a", "x": 1}', '{"k": "b", "y": 1}', '{"y": 2}'],
        ['{"k": "a"}', '{"k": "a", "y": 1}', "{}", '{"x": 1}'],
    ),
    "$ref": ({"$ref": "#/$defs/p~1q%25", "maximum": 3, "$defs": {"p/q%": {"type": "integer"}}}, ["3"], ["4", "1.5"]),
    "$ref by $id and $anchor": (
        {
            "$id": "https://example.com/s",
            "items": {"$ref": "other"},
            "type": "array",
            "contains": {"$ref": "#here"},
            "$defs": {"o": {"$id": "other", "type": "integer"}, "h": {"$anchor": "here", "minimum": 5}},
        },
        ["[5]", "[1, 7]"],
        ["[1]", '["a", 5]', "[5.5]"],
    ),
    "recursion": (
        {
            "$ref": "#/$defs/t",
            "$defs": {
                "t": {
                    "type": "object",
                    "properties": {"c": {"type": "array", "items": {"$ref": "#/$defs/t"}}},
                    "additionalProperties": False,
                }
            },
        },
        ["{}", '{"c": [{}, {"c": [{"c": []}]}]}'],
        ['{"d": 1}', '{"c": [1]}', '{"c": [{"c": 1}]}'],
    ),
    "negated recursion": (
        {"type": "array", "items": {"not": {"$ref": "#"}}},
        ["[]", "[1]", "[[[]]]"],
        ["[[]]", "[[1]]", "1"],
    ),
    "unknown keywords": (
        {
            "type": "integer",
            "x-note": {"type": "string"},
            "title": "t",
            "default": "d",
            "examples": [1],
            "$comment": "c",
        },
        ["1"],
        ['"a"'],
    ),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keyword(name: str) -> None:
    schema, accepted, rejected = KEYWORDS[name]
    check(schema, accepted, rejected)


# Texts of a string, not their JSON.
FORMATS: dict[str, tuple[list[str], list[str]]] = {
    "date": (
        ["2024-02-29", "2023-12-31", "2000-02-29"],
        ["2023-02-29", "1900-02-29", "2023-13-01", "2023-04-31", "2023-1-01", ""],
    ),
    "time": (["12:00:00Z", "23:59:60.5+01:00"], ["12:00", "24:00:00Z", "12:00:00"]),
    "date-time": (
        ["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.123+01:00"],
        ["2024-01-01", "2024-01-01T24:00:00Z", "2024-02-30T00:00:00Z"],
    ),
    "duration": (["P1D", "PT1H2M", "P1Y2M3DT4H", "P1W"], ["P", "PT", "1D", "P1D1Y", "P1YT"]),
    "email": (["a@b.c", "a.b+c@d-e.f", '"a b"@c.d', "a@[1.2.3.4]"], ["a", "a@", "@b", "a..b@c", "a@-b"]),
    "hostname": (["a.b", "a-b", "x" * 63], ["-a", "a..b", "a_b", "x" * 64, ""]),
    "ipv4": (["1.2.3.4", "255.0.0.1"], ["256.1.1.1", "1.2.3", "01.2.3.4"]),
    "ipv6": (
        ["::1", "::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8"],
        ["1:2", "::1::", "1:2:3:4:5:6:7:8:9", ":1", "12345::"],
    ),
    "uri": (
        ["http://a.b/c?d#e", "urn:x:y", "mailto:a@b", "http://[::1]:80/", "a:"],
        ["/a", "a b", "http://a b", "//h/p", ""],
    ),
    "uri-reference": (["", "/a", "a/b", "#x", "//h/p", "http://x", "?q"], ["a b", "\\", "%zz"]),
    "uuid": (["123e4567-e89b-12d3-a456-426614174000"], ["123", "123e4567e89b12d3a456426614174000"]),
    "json-pointer": (["", "/a/~0~1"], ["a", "/~", "/~2"]),
    "relative-json-pointer": (["0", "1/a", "2#"], ["/a", "01"]),
    "byte": (["", "YWI=", "YWJj"], ["a", "YWI", "Y==="]),
    "binary": (["", "é"], []),
    "password": (["", "é"], []),
}


@pytest.mark.parametrize("name", FORMATS)
def test_format(name: str) -> None:
    accepted, rejected = FORMATS[name]
    check({"type": "string", "format": name}, [json.dumps(t) for t in accepted], [json.dumps(t) for t in rejected])
    # Says nothing about other types, and its negation is exact.
    check({"format": name}, ["1", "null", *(json.dumps(t) for t in accepted)], [json.dumps(t) for t in rejected])
    if rejected:
        negation = {"type": "string", "not": {"format": name}}
        check(negation, [json.dumps(t) for t in rejected], [json.dumps(t) for t in accepted])


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array"}, "b": {"const": "é/1"}},
    "additionalProperties": False,
}


SEARCHED = (
    *("a+", "a*", ".+", "[^a]", "[^a]+b*", "a{2,}", "(ab?){2,}", "b*a{2}c*", "a+$", "^b+"),
    *("(a+)+b", "a*|b", "(?:a*)*", "(?=a)b*a+", "b+(?!c)", "(?!a).+", r"\bb*", "a$b*", "c{0}", "a{1,2}c?$"),
)


@pytest.mark.parametrize("pattern", SEARCHED)
def test_searched_patterns(pattern: str) -> None:
    """Repetitions at the ends of what is searched for are shortened: the language stays."""
    grammar = glr.Grammar.from_json_schema({"type": "string", "pattern": pattern})
    for size in range(5):
        for letters in itertools.product("abc", repeat=size):
            text = "".join(letters)
            assert grammar.matches(f'"{text}"') == bool(re.search(pattern, text)), text


def test_whitespace() -> None:
    document = {"a": [1, {"k": []}, []], "b": "é/1"}
    indented = [json.dumps(document, ensure_ascii=False, indent=n) for n in range(9)]
    written = [
        json.dumps(document, ensure_ascii=False),
        json.dumps(document, ensure_ascii=False, separators=(",", ":")),
    ]
    odd = ['{ "a" : [] }', ' {"a":[]}\n', '{"a":\t[]}', '{\r\n"a":[]}']
    check(SCHEMA, written + indented, odd, whitespace="bounded")
    check(SCHEMA, written + indented + odd, ['{"a" []}', '{"a":\v[]}'], whitespace="any")
    check(SCHEMA, written[1:], written[:1] + indented + odd, whitespace="compact")


def test_spelling() -> None:
    other = ['{"\\u0061": []}', '{"b": "\\u00E9/1"}', '{"b": "é\\/1"}']
    check(SCHEMA, ['{"b": "é/1"}'], other)
    check(SCHEMA, ['{"b": "é/1"}', *other], ['{"\\u0062": []}'], spelling="any")
    check({"const": 10}, ["10"], ["10.0", "1e1"])
    ten = ["10", "10.0", "1e1", "100e-1", "1000.0E-2", "0.1e2", "0.010e+03", "10e0", "10e-00"]
    check({"const": 10}, ten, ["11", "10.1", "1e2", "10e1", "10e-1", "-10", "010"], spelling="any")
    check({"const": -0.25}, ["-0.25", "-25e-2", "-0.0025e2", "-2.50e-1"], ["-0.26", "0.25", "-25e-3"], spelling="any")
    check(
        {"type": "integer"},
        ["10", "10.0", "1e1", "1.5e1", "150e-1", "0e-3", "-0.0", "1e400"],
        ["1.5", "1e-1", "15e-1", "1.55e1", "0.5e0"],
        spelling="any",
    )
    check(
        {"type": "integer", "minimum": 5, "maximum": 200},
        ["5", "5e0", "50e-1", "0.5e1", "2e2", "20000e-2", "199.0"],
        ["4", "4e0", "49e-1", "0.4e1", "2.01e2", "201", "55e-1", "2e3"],
        spelling="any",
    )
    check(
        {"type": "number", "exclusiveMinimum": 0.5, "multipleOf": 0.25},
        ["0.75", "1", "0.075e1", "0.0100e2"],
        ["0.5", "0.8", "0.05e1", "0.08e1"],
        spelling="any",
    )


def test_max_digits() -> None:
    check({"type": "number"}, ["123", "-12.3", "0.12"], ["1234", "0.123", "12.34"], max_digits=3)
    check({"type": "integer", "minimum": 5}, ["5", "999"], ["1000"], max_digits=3)


def test_property_order() -> None:
    schema = {"properties": {"b": {}, "a": {}}, "required": ["c"], "type": "object"}
    check(
        schema,
        ['{"b": 1, "a": 2, "c": 3, "d": 4}', '{"c": 1, "z": 2, "y": 3}'],
        ['{"a": 1, "b": 2, "c": 3}', '{"d": 1, "c": 2}'],
    )
    every = ['{"b": 1, "a": 2, "c": 3, "d": 4}', '{"a": 1, "b": 2, "c": 3}', '{"d": 1, "c": 2}']
    check(schema, every, ['{"a": 1, "b": 2}', '{"a": 1, "c": 2, "a": 3}', "{}", '{"c": 1,}'], property_order="any")


# A schema, members of a document that meet it in every order, and texts that do not meet it.
ANY_ORDER: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "names that begin alike": (
        {"properties": {"a": {"type": "integer"}, "ab": {}, "abc": {}, "b": {}}, "additionalProperties": False},
        {"a": 1, "ab": 2, "abc": 3, "b": None},
        ['{"ab": 1, "ab": 2}', '{"a": "x"}', '{"ac": 1}', '{"abcd": 1}'],
    ),
    "all required": (
        {"properties": {"x": {}, "y": {"type": "object"}, "z": {}}, "required": ["z", "y", "x"]},
        {"x": [1], "y": {"x": {}}, "z": ""},
        ['{"x": 1, "y": {}}', '{"x": 1, "y": {}, "w": 1}', '{"x": 1, "y": 2, "z": 3}'],
    ),
    "bounds": (
        {"properties": {"x": {}, "y": {}}, "required": ["y"], "minProperties": 2, "maxProperties": 3},
        {"x": 1, "y": 2, "w": 3},
        ['{"y": 1}', '{"x": 1, "w": 2, "v": 3}', '{"x": 1, "w": 2, "v": 3, "y": 4}', '{"x": 1, "x": 2, "y": 3}'],
    ),
    "room for one that is required": (
        {"properties": {"x": {}, "y": {}}, "required": ["y"], "maxProperties": 1},
        {"y": 1},
        ['{"x": 1}', "{}", '{"y": 1, "x": 2}', '{"w": 1}'],
    ),
    "additional members with a schema": (
        {"properties": {"n": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
        {"n": "a", "k": 1, "m": 2},
        ['{"n": 1}', '{"k": "a"}', '{"k": 1, "n": 1}', '{"n": "a", "k": 1, "n": "b"}'],
    ),
    "a negated schema": (
        {"type": "object", "not": {"additionalProperties": {"type": "integer"}}, "maxProperties": 2},
        {"a": 1, "b": "x"},
        ["{}", '{"a": 1}', '{"a": 1, "b": 2}', '{"a": "x", "b": "y", "c": "z"}'],
    ),
    "recursive": (
        {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"v": {}, "l": {"$ref": "#/$defs/t"}}, "required": ["v"]}}},
        {"v": 1, "l": {"l": {"v": 2}, "v": 3}},
        ['{"l": {"v": 1}}', '{"l": {"l": {}, "v": 1}, "v": 2}'],
    ),
}


@pytest.mark.parametrize("case", ANY_ORDER)
def test_any_order(case: str) -> None:
    schema, document, rejected = ANY_ORDER[case]
    check({"type": "object", **schema}, [spelled(d) for d in orders(document)], rejected, property_order="any")


def test_any_order_of_many() -> None:
    names = [f"property {i}" for i in range(5_000)]
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names[::100], "type": "object"}
    grammar = glr.Grammar.from_json_schema(schema, property_order="any")
    rng = Random(1)
    document = dict.fromkeys(rng.sample(names, 200) + names[::100], 1)
    assert grammar.matches(spelled(document))
    del document[names[700]]
    assert not grammar.matches(spelled(document))


def test_any_order_of_a_saved_constraint(tmp_path: Path) -> None:
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a"], "minProperties": 3, "type": "object"}
    constraint = glr.Grammar.from_json_schema(schema, property_order="any").compile(BYTES)
    texts = [spelled(d).encode() for d in orders({"a": [{}], "b": "é", "d": 1})]
    assert all(masks_admit(constraint, text) for text in texts)
    constraint.save(tmp_path / "saved")
    again = glr.Constraint.load(tmp_path / "saved", BYTES)
    assert again.stats.entries > 0
    assert all(masks_admit(again, text) for text in texts)
    assert not masks_admit(again, b'{"b": 1, "c": 2, "d": 3}')


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def test_strict_profile() -> None:
    check(
        closed(a={"type": "string"}),
        ['{"a": "é\\n\\"\\u0001"}'],
        ['{"a": "\\u00e9"}', '{"a": "\\/"}'],
        profile="strict",
    )
    number = closed(a={"type": "number"})
    check(number, ['{"a": 1.2345678901234567}'], ['{"a": 1.23456789012345678}'], profile="strict")
    nested = {"$ref": "#/$defs/l", "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}}
    check(nested, ["[" * 16 + "]" * 16], ["[" * 17 + "]" * 17], profile="strict")
    check(nested, ["[" * 40 + "]" * 40], [])
    for schema in (
        {},
        {"type": "object"},
        {"properties": {"a": {}}},
        {"type": "array"},
        {**closed(), "additionalProperties": {"type": "integer"}},
        closed(a={"type": "object"}),
    ):
        with pytest.raises(glr.SchemaError, match="open object in the strict profile"):
            glr.Grammar.from_json_schema(schema, profile="strict")
    deep: dict[str, Any] = {"type": "null"}
    for _ in range(17):
        deep = {**closed(a=deep), "required": ["a"]}
    with pytest.raises(glr.SchemaError, match="no value"):
        glr.Grammar.from_json_schema(deep, profile="strict")
    assert glr.Grammar.from_json_schema(deep["properties"]["a"], profile="strict").warnings == []
    with pytest.raises(glr.SchemaError, match="unevaluatedProperties"):
        glr.Grammar.from_json_schema({**closed(), "unevaluatedProperties": True}, profile="strict")
    with pytest.raises(glr.SchemaError, match="spelling"):
        glr.Grammar.from_json_schema(closed(), profile="strict", spelling="any")


# A schema, the pointer of the cause, what the message says.
REFUSED: list[tuple[Any, str, str]] = [
    ({"type": "strng"}, "#/type", "did you mean 'string'"),
    ({"properties": {"a/b": {"type": 1}}}, "#/properties/a~1b/type", "must be a string"),
    ({"properties": []}, "#/properties", "must be an object"),
    ({"minLength": -1}, "#/minLength", "whole number"),
    ({"minLength": 1.5}, "#/minLength", "whole number"),
    ({"multipleOf": 0}, "#/multipleOf", "greater than 0"),
    ({"anyOf": []}, "#/anyOf", "must not be empty"),
    ({"items": 1}, "#/items", "a schema is"),
    ({"pattern": "("}, "#/pattern", "unmatched"),
    ({"pattern": "(a)\\1"}, "#/pattern", "back-reference"),
    ({"$ref": "#/$defs/x"}, "#/$ref", "nothing of that name"),
    ({"$ref": "https://example.com/other.json"}, "#/$ref", "nothing is fetched"),
    ({"$ref": "#"}, "#", "leads back to itself"),
    ({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}, "", "leads back to itself"),
    ({"not": {"unevaluatedProperties": False}}, "#/not", "negation of 'unevaluatedProperties'"),
    ({"contains": {"const": 1}, "unevaluatedItems": False}, "#", "'unevaluatedItems' beside 'contains'"),
    ({"items": {"$dynamicRef": "#node"}}, "#/items/$dynamicRef", "nothing of that name"),
    (
        {"$dynamicRef": "#n", "$defs": {"a": {"$dynamicAnchor": "n"}, "b": {"$id": "b", "$dynamicAnchor": "n"}}},
        "#/$dynamicRef",
        "several targets",
    ),
    ({"type": "array", "uniqueItems": True}, "#/uniqueItems", "uniqueItems"),
    ({"type": "integer", "enum": ["x"]}, "#", "no value meets the schema"),
    ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "", "no value meets the schema"),
    ({"allOf": [{"minimum": 3}, {"maximum": 2}], "type": "number"}, "", "no value meets the schema"),
    (False, "#", "no value meets the schema"),
    (
        {
            "$ref": "#/$defs/l",
            "$defs": {"l": {"type": "object", "properties": {"n": {"$ref": "#/$defs/l"}}, "required": ["n"]}},
        },
        "",
        "no value",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusal(number: int) -> None:
    schema, pointer, message = REFUSED[number]
    with pytest.raises(glr.SchemaError, match=re.escape(message)) as caught:
        glr.Grammar.from_json_schema(schema)
    assert isinstance(caught.value, glr.GrammarError)
    if pointer:
        assert caught.value.pointer == pointer


def test_warnings() -> None:
    unique = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    grammar = glr.Grammar.from_json_schema(unique, on_unsupported="warn")
    assert len(grammar.warnings) == 1
    assert "#/uniqueItems" in grammar.warnings[0]
    assert grammar.matches("[1, 1]")
    assert not grammar.matches('["a"]')
    # What is not enforced is not negated either.
    negated = glr.Grammar.from_json_schema(
        {"type": "integer", "not": {"unevaluatedItems": False}}, on_unsupported="warn"
    )
    assert negated.matches("1")
    assert glr.Grammar.from_json_schema({"format": "no-such"}).warnings != []
    assert glr.Grammar.from_json_schema({"format": "date"}).warnings == []


def test_ways_to_give_a_schema() -> None:
    class Model:
        @staticmethod
        def model_json_schema() -> dict[str, Any]:
            return {"type": "integer"}

    grammars = [
        glr.Grammar.from_json_schema(s)
        for s in ({"type": "integer"}, '{"type": "integer"}', b'{"type": "integer"}', Model)
    ]
    assert len({g.fingerprint for g in grammars}) == 1
    other = glr.Grammar.from_json_schema({"type": "integer"}, whitespace="any")
    assert other.fingerprint != grammars[0].fingerprint
    assert glr.json_object().matches('{"a": 1}')
    assert not glr.json_object().matches("[]")
    with pytest.raises(glr.GrammarError):
        glr.Grammar.from_json_schema('{"type": ')
    with pytest.raises(TypeError):
        glr.Grammar.from_json_schema(5)
    with pytest.raises(ValueError, match="whitespace is one of"):
        glr.Grammar.from_json_schema({}, whitespace="none")  # type: ignore[arg-type]  # the error is what is tested
    with pytest.raises(ValueError, match="max_digits"):
        glr.Grammar.from_json_schema({}, max_digits=0)


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def _endless() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "pointer", "message"),
    [
        ({"items": {"minimum": math.nan}}, "#/items/minimum", "nan is no JSON"),
        ({"const": [1, {"a/b": -math.inf}]}, "#/const/1/a~1b", "-inf is no JSON"),
        ({"properties": {1: {}}}, "#/properties", "key 1 is no JSON"),
        ({"const": b"x"}, "#/const", "a value of type bytes"),
        ({"enum": ["a", {"x": {"a"}}]}, "#/enum/1/x", "a value of type set"),
        ({"const": "\ud800"}, "#/const", "half of a surrogate pair"),
        ({"minimum": 10**5000}, "#/minimum", "16610 bits"),
        (_nested(5_000), "#", "nesting of more than 400 levels"),
        (_endless(), "#", "a dict that contains itself"),
    ],
)
def test_objects_that_are_no_json(schema: Any, pointer: str, message: str) -> None:
    with pytest.raises(glr.SchemaError, match=message) as raised:
        glr.Grammar.from_json_schema(schema)
    assert raised.value.pointer == pointer
    assert raised.value.hint


def test_mappings_of_other_types() -> None:
    schema = MappingProxyType({"properties": MappingProxyType({"a": {"enum": (1, 10**300)}})})
    check(schema, ['{"a": 1}', '{"a": 1' + "0" * 300 + "}"], ['{"a": 10}'])


def test_unique_items_of_many_values() -> None:
    names = [f"name {i}" for i in range(2_000)]
    schema = {"type": "array", "items": {"enum": [*names, 1, 12, None]}, "uniqueItems": True, "minItems": 2}
    every = spelled([12, *names, 1, None])
    check(
        schema,
        ["[1, 12]", '[null, "name 7", 12]', every],
        ["[1]", "[]", "[12, 1, 12]", '["name 3","name 3"]', "[2, 1]"],
    )
    check({**schema, "minItems": 0, "maxItems": 2}, ["[]", "[12,1]"], ["[1, 12, null]", "[1,1]"], whitespace="any")
    with pytest.raises(glr.SchemaError, match="no value"):
        glr.Grammar.from_json_schema({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3})
    pairs = {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True}
    check(pairs, ["[]", "[true]", "[false, true]"], ["[true, true]", "[true, false, true]"], spelling="any")
    numbers = {"type": "array", "items": {"enum": [1, 10]}, "uniqueItems": True}
    check(numbers, ["[1.0, 1e1]", "[10]"], ["[1, 1.0]", "[1e1, 10]"], spelling="any")


def test_large_schemas() -> None:
    many = {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(1000)}, "required": ["p999"]}
    grammar = glr.Grammar.from_json_schema(many)
    assert grammar.matches('{"p0": 1, "p500": 2, "p999": 3}')
    assert not grammar.matches('{"p500": 1, "p0": 2, "p999": 3}')
    strings = glr.Grammar.from_json_schema({"enum": [f"value {i}" for i in range(10_000)]})
    assert strings.matches('"value 9999"')
    assert not strings.matches('"value 10000"')
    chain: dict[str, Any] = {"$ref": "#/$defs/0", "$defs": {str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(1000)}}
    chain["$defs"]["1000"] = {"type": "null"}
    assert glr.Grammar.from_json_schema(chain).matches("null")
    nested: Any = {"type": "null"}
    for _ in range(100):
        nested = {"allOf": [nested]}
    assert glr.Grammar.from_json_schema(nested).matches("null")
    with pytest.raises(glr.GrammarError, match=r"deep|nest"):
        glr.Grammar.from_json_schema('{"not":' * 100_000 + "{}" + "}" * 100_000)


SCHEMAS = 300
DOCUMENTS = 25


@pytest.mark.parametrize("part", range(6))
def test_against_jsonschema(part: int) -> None:
    """Every document has an order of its members that the grammar admits, or none, as jsonschema says."""
    refused = valid = 0
    for number in range(part, SCHEMAS, 6):
        rng = Random(number)
        schema = random_schema(rng)
        validator = jsonschema.Draft202012Validator(schema)
        documents = [random_document(rng) for _ in range(DOCUMENTS)]
        try:
            grammar = glr.Grammar.from_json_schema(schema)
        except glr.SchemaError as error:
            if "no value" in str(error):
                assert not any(validator.is_valid(d) for d in documents), (number, schema)
            else:
                refused += 1
            continue
        constraint = grammar.compile(BYTES)
        for i, document in enumerate(documents):
            due = validator.is_valid(document)
            texts = [spelled(d) for d in orders(document)]
            admitted = [text for text in texts if grammar.matches(text)]
            assert bool(admitted) == due, (number, spelled(schema), spelled(document))
            valid += due
            if i < 4:
                text = (admitted or texts)[0]
                assert masks_admit(constraint, text.encode()) == bool(admitted), (number, spelled(schema), text)
    assert refused < SCHEMAS / 6 * 0.2
    assert valid > 100


# Of what the others leave unevaluated.
UNEVALUATED: list[Any] = [
    {"properties": {"a": {}}, "unevaluatedProperties": False},
    {"allOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/x"}], "$defs": {"x": {"patternProperties": {"b$": {}}}}},
    {"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {}}, "required": ["b"]}]},
    {"oneOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]},
    {"if": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}, "then": {"properties": {"b": {}}}},
    {"if": {"properties": {"a": {"type": "integer"}}}, "else": {"properties": {"ab": {}}}},
    {"dependentSchemas": {"a": {"properties": {"b": {}, "a": {}}}}},
    {"allOf": [{"properties": {"a": {}}, "unevaluatedProperties": {"type": "integer"}}]},
    {"not": {"not": {"properties": {"a": {}}}}, "properties": {"b": {}}},
    {"additionalProperties": {"type": "integer"}},
    {"prefixItems": [{}], "unevaluatedItems": {"type": "string"}},
    {"anyOf": [{"prefixItems": [{}, {"type": "integer"}]}, {"prefixItems": [{"type": "string"}]}]},
    {"if": {"prefixItems": [{"type": "integer"}]}, "then": {"items": {"type": "integer"}}},
    {"items": {"properties": {"a": {}}, "unevaluatedProperties": False}},
]


@pytest.mark.parametrize("number", range(len(UNEVALUATED)))
def test_unevaluated(number: int) -> None:
    schema = {"unevaluatedProperties": False, "unevaluatedItems": False, **UNEVALUATED[number]}
    validator = jsonschema.Draft202012Validator(schema)
    grammar = glr.Grammar.from_json_schema(schema, property_order="any")
    rng = Random(number)
    answers = {True: 0, False: 0}
    for _ in range(1_000):
        document = random_document(rng)
        due = validator.is_valid(document)
        answers[due] += isinstance(document, dict | list)
        assert grammar.matches(spelled(document)) == due, (schema, document)
    assert min(answers.values()) > 5


def test_dynamic_references() -> None:
    tree = {"$id": "https://example.com/tree", "$dynamicAnchor": "node", "type": "object", "required": ["v"]}
    tree["properties"] = {"v": {"type": "integer"}, "l": {"$dynamicRef": "#node"}}
    check(tree, ['{"v": 1}', '{"v": 1, "l": {"v": 2}}'], ['{"v": 1, "l": {}}', '{"v": 1, "l": 1}'])
    tree["properties"]["l"] = {"$recursiveRef": "#"}
    check(tree, ['{"v": 1, "l": {"v": 2}}'], ['{"v": 1, "l": {}}'])


@pytest.mark.parametrize("part", range(3))
def test_any_order_against_jsonschema(part: int) -> None:
    """Every order of a document's members is admitted, or none is, as jsonschema says."""
    valid = 0
    for number in range(1000 + part, 1000 + SCHEMAS // 2, 3):
        rng = Random(number)
        schema = random_schema(rng)
        validator = jsonschema.Draft202012Validator(schema)
        documents = [random_document(rng) for _ in range(DOCUMENTS)]
        try:
            grammar = glr.Grammar.from_json_schema(schema, property_order="any")
        except glr.SchemaError as error:
            if "no value" in str(error):
                assert not any(validator.is_valid(d) for d in documents), (number, schema)
            continue
        constraint = grammar.compile(BYTES)
        for i, document in enumerate(documents):
            due = validator.is_valid(document)
            valid += due
            texts = [spelled(d) for d in itertools.islice(orders(document), 6)]
            for text in texts:
                assert grammar.matches(text) == due, (number, spelled(schema), text)
            if i < 4:
                assert masks_admit(constraint, texts[-1].encode()) == due, (number, spelled(schema), texts[-1])
    assert valid > 100


def test_limits_page() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, root / "tools" / "limits.py", "--check"], check=False)
    assert done.returncode == 0, "docs/limits.md is out of date: run tools/limits.py"
