"""JSON Schemas with documents: hypothesis, several ways to cut tokens, the demo model, large schemas."""

from __future__ import annotations

import json
import time
from random import Random
from typing import Any

import glrsampler as glr
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.random_schemas import random_document, random_schema, spelled

# --- hypothesis: schemas and documents grow and shrink together -----------------------------------------------------

NAMES = st.sampled_from(["a", "b", "ab", "c"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-20, 20), st.sampled_from([0.5, -1.5, 2.25]), st.text("ab\né😀", max_size=4)
)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "required": st.lists(NAMES, unique=True, max_size=2),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 3),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 3),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "oneOf": st.lists(inner, min_size=1, max_size=3),
        "not": inner,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True, max_size=1), max_size=1),
    }
    return st.fixed_dictionaries({}, optional=keywords).flatmap(lambda chosen: st.just(dict(list(chosen.items())[:4])))


LEAVES = st.one_of(
    st.booleans(),
    st.just({}),
    st.builds(lambda t: {"type": t}, st.sampled_from(["null", "boolean", "integer", "number", "string", "array"])),
    st.builds(lambda v: {"const": v}, SCALARS),
    st.builds(lambda v: {"enum": v}, st.lists(SCALARS, min_size=1, max_size=3)),
    st.builds(lambda m, n: {"minimum": m, "exclusiveMaximum": n}, st.integers(-5, 5), st.integers(0, 9)),
    st.builds(lambda m, n: {"minLength": m, "maxLength": n}, st.integers(0, 2), st.integers(1, 3)),
    st.sampled_from([{"multipleOf": 3}, {"pattern": "^a*b"}, {"type": ["string", "null"], "pattern": "é|\\n"}]),
)
SCHEMAS = st.recursive(LEAVES, _schemas, max_leaves=5)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(SCHEMAS, st.lists(DOCUMENTS, min_size=1, max_size=8))
def test_against_jsonschema(schema: Any, documents: list[Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    try:
        grammar = glr.Grammar.from_json_schema(schema, property_order="any")
    except glr.SchemaError as error:
        if "no value" in str(error):
            assert not any(map(validator.is_valid, documents))
        return
    for document in documents:
        assert grammar.matches(spelled(document)) == validator.is_valid(document), (schema, document)
        assert (glr.validate(spelled(document), schema) == []) == validator.is_valid(document)


# --- tokens ---------------------------------------------------------------------------------------------------------


def cut_at_random(vocabulary: glr.Vocabulary, by_bytes: dict[bytes, int], text: bytes, rng: Random) -> list[int]:
    tokens = []
    at = 0
    while at < len(text):
        fitting = [n for n in range(1, 9) if text[at : at + n] in by_bytes and at + n <= len(text)]
        length = rng.choice(fitting)
        tokens.append(by_bytes[text[at : at + length]])
        at += length
    return tokens


def accepted(constraint: glr.Constraint, tokens: list[int]) -> bool:
    matcher = constraint.matcher()
    for token in tokens:
        mask = matcher.mask()
        admitted = bool(int(mask[token >> 5]) >> (token & 31) & 1)
        assert matcher.try_commit(token) == admitted
        if not admitted:
            return False
    return matcher.accepting


@pytest.mark.parametrize("order", ["schema", "any"])
def test_every_cut_has_the_same_answer(order: Any, llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    by_bytes = {vocabulary.token_bytes(t): t for t in range(len(vocabulary)) if vocabulary.token_bytes(t)}
    answers = {True: 0, False: 0}
    for number in range(40):
        rng = Random(number)
        schema = random_schema(rng)
        try:
            constraint = glr.Grammar.from_json_schema(schema, property_order=order).compile(vocabulary)
        except glr.SchemaError:
            continue
        for _ in range(6):
            text = spelled(random_document(rng)).encode()
            expected = constraint.grammar.matches(text)
            cuts = [llm.tokenize(text, add_bos=False, special=False), [by_bytes[bytes([b])] for b in text]]
            cuts += [cut_at_random(vocabulary, by_bytes, text, rng) for _ in range(2)]
            for tokens in cuts:
                assert b"".join(map(vocabulary.token_bytes, tokens)) == text
                assert accepted(constraint, tokens) == expected, (schema, text, tokens)
            answers[expected] += 1
    assert min(answers.values()) > 20


# --- the demo model -------------------------------------------------------------------------------------------------

WRITTEN: list[Any] = [
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}}, "required": ["name"]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["a", "b"]},
    {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 9}, "minItems": 2, "maxItems": 4},
    {"enum": ["red", "green", 3, None, {"k": [1]}]},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "pattern": "^[A-Z][a-z]{2,5}$"},
    {"type": "number", "minimum": -1, "maximum": 1, "multipleOf": 0.25},
    {"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}], "maximum": 99},
    {"type": "object", "properties": {"t": {"const": "x"}, "n": {"type": "null"}}, "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "integer", "maximum": 9, "minimum": 0}, "minProperties": 2,
     "maxProperties": 2, "propertyNames": {"pattern": "^[a-c]{1,2}$"}},
    {"type": "array", "prefixItems": [{"type": "boolean"}, {"const": "é"}], "items": False, "minItems": 2},
    {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "type": "object", "maxProperties": 2,
     "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False},
    {"not": {"type": ["string", "object", "array", "number"]}},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    {"$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 1}}, "$ref": "#/$defs/t"},
]  # fmt: skip


@pytest.mark.parametrize("order", ["schema", "any"])
def test_what_the_model_writes_is_valid(order: Any, llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    complete = 0
    for number, schema in enumerate(WRITTEN):
        constraint = glr.Grammar.from_json_schema(schema, property_order=order, max_digits=6).compile(vocabulary)
        result = glr.generate(llm, "Some JSON: ", glr.Sampler(constraint, seed=number), max_tokens=80)
        if result.status == "complete":
            complete += 1
            assert result.violations == (), (schema, result)
            assert glr.validate(result, schema) == []
            assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(result.text)), (schema, result)
        else:
            assert result.violations, result
    assert complete >= len(WRITTEN) - 4


def test_results_know_their_spans(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    source = "Ada Lovelace wrote to Charles Babbage about the engine."
    quote = {"type": "string", "x-source-span": True, "minLength": 3, "maxLength": 20}
    schema = {"type": "object", "properties": {"who": quote}, "required": ["who"], "additionalProperties": False}
    constraint = glr.Grammar.from_json_schema(schema, source=source).compile(vocabulary)
    result = glr.generate(llm, source + "\nJSON: ", glr.Sampler(constraint, seed=1), max_tokens=60)
    assert result.status == "complete"
    assert result.violations == ()
    start, end = result.spans["/who"]
    assert source[start:end] == json.loads(result.text)["who"]
    plain = glr.Grammar.from_choices(["yes"]).compile(vocabulary)
    assert glr.generate(llm, "x", glr.Sampler(plain, seed=1)).violations is None


# --- large ones -----------------------------------------------------------------------------------------------------


def test_large_schemas() -> None:
    """Each within seconds, on a machine that does other things too."""
    began = time.process_time()
    names = [f"property number {i}" for i in range(5_000)]
    many = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names[::2]}
    grammar = glr.Grammar.from_json_schema(many)
    assert grammar.matches(spelled(dict.fromkeys(names, "x")))
    assert not grammar.matches(spelled(dict.fromkeys(names[1:], "x")))

    strings = [f"value {i} {'x' * (i % 7)}" for i in range(10_000)]
    grammar = glr.Grammar.from_json_schema({"enum": strings})
    assert grammar.matches(spelled(strings[-1]))
    assert not grammar.matches('"value 10000 xxxx"')

    conjunction = [
        {"properties": {f"p{i}": {"type": "integer", "minimum": i}}, "required": [f"p{i}"]} for i in range(100)
    ]
    nested: Any = {"type": "object"}
    for schema in conjunction:
        nested = {"allOf": [schema, nested]}
    grammar = glr.Grammar.from_json_schema(nested, property_order="any")
    assert grammar.matches(spelled({f"p{i}": i for i in range(100)}))
    assert not grammar.matches(spelled({f"p{i}": 50 for i in range(100)}))

    deep = {"$defs": {str(i): {"properties": {"next": {"$ref": f"#/$defs/{(i + 1) % 2_000}"}, str(i): {}},
                              "type": "object", "additionalProperties": False} for i in range(2_000)},
            "$ref": "#/$defs/0"}  # fmt: skip
    grammar = glr.Grammar.from_json_schema(deep)
    document: Any = {"40": 1}
    for _ in range(40):
        document = {"next": document}
    assert grammar.matches(spelled(document))
    assert not grammar.matches(spelled({"next": {"0": 1}}))

    def group(number: int) -> dict[str, Any]:
        enumerated = {"enum": [f"{number} {j}" for j in range(20)]}
        members = {"a": enumerated, "b": {"type": ["number", "null"]}, "c": {"pattern": "^x+$"}}
        return {"type": "object", "description": "d" * 300, "required": ["a"], "properties": members}

    megabyte = json.dumps({"type": "object", "properties": {f"group {i}": group(i) for i in range(1_600)}})
    assert len(megabyte) > 1_000_000
    grammar = glr.Grammar.from_json_schema(megabyte)
    assert grammar.matches('{"group 3": {"a": "3 4", "b": null}, "group 7": {"a": "7 19", "c": "xx"}}')
    assert not grammar.matches('{"group 3": {"a": "4 4"}}')
    assert time.process_time() - began < 60
