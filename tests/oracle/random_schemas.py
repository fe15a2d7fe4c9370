"""Random JSON Schemas, and documents that are likely to be near them: small vocabularies, so that things meet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

KEYS = ("a", "b", "ab")
STRINGS = ("", "a", "b", "ab", "abc", "é")
NUMBERS = (-3, -1, 0, 1, 2, 3, 6, 0.5, 1.5, -2.5)
PATTERNS = ("a", "^a", "b$", "^[ab]+$", "^..$", "^(?!a)")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def random_schema(rng: Random, depth: int = 2) -> Any:
    """A schema of draft 2020-12. What glrsampler refuses (uniqueItems of endless items) is in it too."""
    if depth == 0 and rng.random() < 0.3:
        return rng.choice([True, True, False, {}])
    schema: dict[str, Any] = {}
    if rng.random() < 0.6:
        schema["type"] = rng.choice(TYPES) if rng.random() < 0.7 else sorted(rng.sample(TYPES, 2))
    makers = [m for m in _MAKERS if depth > 0 or m not in _NESTING]
    for maker in rng.sample(makers, rng.choice((0, 1, 1, 2, 3))):
        schema.update(maker(rng, depth - 1))
    return schema


def _numbers(rng: Random, depth: int) -> dict[str, Any]:
    keyword = rng.choice(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
    return {keyword: rng.choice((0.5, 1, 2, 3)) if keyword == "multipleOf" else rng.choice(NUMBERS)}


def _strings(rng: Random, depth: int) -> dict[str, Any]:
    keyword = rng.choice(("minLength", "maxLength", "pattern"))
    return {keyword: rng.choice(PATTERNS) if keyword == "pattern" else rng.randrange(4)}


def _values(rng: Random, depth: int) -> dict[str, Any]:
    values = [random_document(rng, 1) for _ in range(rng.choice((1, 2, 3)))]
    return {"const": values[0]} if len(values) == 1 else {"enum": values}


def _array(rng: Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if rng.random() < 0.5:
        schema["prefixItems"] = [random_schema(rng, depth) for _ in range(rng.choice((1, 2)))]
    if rng.random() < 0.6:
        schema["items"] = random_schema(rng, depth)
    if rng.random() < 0.3:
        schema["contains"] = random_schema(rng, depth)
        if rng.random() < 0.4:
            schema[rng.choice(("minContains", "maxContains"))] = rng.randrange(3)
    if rng.random() < 0.3:
        schema[rng.choice(("minItems", "maxItems"))] = rng.randrange(3)
    if rng.random() < 0.1:
        schema["uniqueItems"] = True
    return schema


def _object(rng: Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if rng.random() < 0.7:
        schema["properties"] = {key: random_schema(rng, depth) for key in rng.sample(KEYS, rng.choice((1, 2)))}
    if rng.random() < 0.4:
        schema["required"] = rng.sample(KEYS, rng.choice((1, 2)))
    if rng.random() < 0.4:
        schema["additionalProperties"] = random_schema(rng, depth)
    if rng.random() < 0.3:
        schema["patternProperties"] = {rng.choice(PATTERNS): random_schema(rng, depth)}
    if rng.random() < 0.2:
        schema["propertyNames"] = random_schema(rng, 0)
    if rng.random() < 0.2:
        schema[rng.choice(("minProperties", "maxProperties"))] = rng.randrange(3)
    if rng.random() < 0.2:
        schema["dependentRequired"] = {rng.choice(KEYS): [rng.choice(KEYS)]}
    if rng.random() < 0.2:
        schema["dependentSchemas"] = {rng.choice(KEYS): random_schema(rng, depth)}
    return schema


def _combination(rng: Random, depth: int) -> dict[str, Any]:
    keyword = rng.choice(("allOf", "anyOf", "oneOf", "oneOf", "not", "not", "if"))
    if keyword == "not":
        return {"not": random_schema(rng, depth)}
    if keyword == "if":
        return {name: random_schema(rng, depth) for name in ("if", *rng.sample(("then", "else"), rng.choice((1, 2))))}
    return {keyword: [random_schema(rng, depth) for _ in range(rng.choice((1, 2, 2, 3)))]}


_NESTING: tuple[Callable[[Random, int], dict[str, Any]], ...] = (_array, _object, _combination)
_MAKERS = (_numbers, _strings, _values, *_NESTING, _combination)


def random_document(rng: Random, depth: int = 2) -> Any:
    kind = rng.randrange(7 if depth > 0 else 5)
    if kind == 5:
        return [random_document(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {key: random_document(rng, depth - 1) for key in rng.sample(KEYS, rng.randrange(4))}
    return rng.choice(((None,), (True, False), NUMBERS, STRINGS, STRINGS)[kind])


def orders(document: Any) -> Iterator[Any]:
    """The document with the members of its objects in every order."""
    if isinstance(document, list):
        for items in itertools.product(*(list(orders(item)) for item in document)):
            yield list(items)
    elif isinstance(document, dict):
        values = {key: list(orders(value)) for key, value in document.items()}
        for keys in itertools.permutations(document):
            for members in itertools.product(*(values[key] for key in keys)):
                yield dict(zip(keys, members, strict=True))
    else:
        yield document


def spelled(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)
