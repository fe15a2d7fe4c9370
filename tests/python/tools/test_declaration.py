"""What can be declared, what is refused at once, and what the hashes are over."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypedDict

import declared_tools
import glrsampler as glr
import pydantic
import pytest
from glrsampler.tools import Broker, Manifest, Tool, canonical, digest, tool
from glrsampler.tools.canonical import from_canonical
from hypothesis import given
from hypothesis import strategies as st


class Place(TypedDict):
    name: str
    height: float | None


def everything(
    text: str,
    flag: bool,
    count: int,
    share: float,
    kind: Literal["a", 1],
    words: list[str],
    place: Place,
    short: Annotated[str, {"maxLength": 3}],
    maybe: int | None = None,
) -> None:
    """The first paragraph,
    on two lines.

    The second is not the model's.
    """


def test_the_schema_of_a_signature() -> None:
    declared = tool(version="1", capability="read")(everything)
    assert declared.description == "The first paragraph, on two lines."
    assert declared.schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "flag": {"type": "boolean"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "kind": {"enum": ["a", 1]},
            "words": {"type": "array", "items": {"type": "string"}},
            "place": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "height": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
                "required": ["name", "height"],
                "additionalProperties": False,
            },
            "short": {"type": "string", "maxLength": 3},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["text", "flag", "count", "share", "kind", "words", "place", "short"],
        "additionalProperties": False,
    }
    assert declared.schema_hash == hashlib.sha256(canonical(declared.schema)).hexdigest()
    assert list(declared.schema["properties"]) == list(everything.__annotations__)[:-1]  # in which the model writes


def test_what_was_hashed_cannot_be_changed() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}

    def shout(text: str = "") -> str:
        """Shouts."""
        return text.upper()

    declared = tool(version="1", capability="read", schema=schema)(shout)
    before = declared.schema_hash
    schema["properties"] = {}
    declared.schema["properties"]["text"]["type"] = "integer"
    assert declared.schema["properties"] == {"text": {"type": "string"}}
    assert digest(declared.schema) == before
    with pytest.raises(AttributeError):
        declared.timeout = 1e9  # type: ignore[misc] # that it cannot be done is what is tested
    assert declared("x") == "X"


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    item: str
    count: Annotated[int, pydantic.Field(ge=1, le=9)] = 1


def test_a_pydantic_model_is_the_one_argument() -> None:
    @tool(version="1", capability="write", schema=Order, isolated=False)
    def order(order: Order) -> str:
        """Orders."""
        return f"{order.count} {order.item}"

    broker = Broker(Manifest([order]), confirm=lambda _: True)
    for arguments, result in (({"item": "tea"}, "1 tea"), ({"item": "tea", "count": 2}, "2 tea")):
        assert broker.execute(declared_tools.text_of(order, arguments), broker.issue()).result == result
    outcome = broker.execute(declared_tools.text_of(order, {"item": "tea", "count": 10}), broker.issue())
    assert outcome.reason is glr.Reason.INVALID_ARGUMENTS
    assert outcome.error == "#/count: maximum is not met"


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def one(x: Any = None) -> None:
    """Takes anything."""


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "a name is"), ({"name": "a b"}, "a name is"), ({"name": "1a"}, "a name is"),
        ({"name": "é"}, "a name is"), ({"name": "a" * 65}, "a name is"), ({"name": 'a"'}, "a name is"),
        ({"name": "a\n"}, "a name is"), ({"version": ""}, "a version is"), ({"version": "1 "}, "a version is"),
        ({"version": '1"'}, "a version is"), ({"capability": "admin"}, "the capability is"),
        ({"timeout": 0}, "the timeout"), ({"timeout": -1.0}, "the timeout"), ({"timeout": math.inf}, "the timeout"),
        ({"timeout": math.nan}, "the timeout"), ({"max_bytes": 0}, "max_bytes"),
        ({"description": "x" * 1025}, "the description"),
        ({"schema": True}, '"type": "object"'), ({"schema": {"type": "string"}}, '"type": "object"'),
        ({"schema": {"type": "object"}}, "kept to exactly"),  # open
        ({"schema": closed({"x": {}})}, "kept to exactly"),  # any value
        ({"schema": closed({"x": {"type": "no"}})}, "kept to exactly"),
        ({"schema": closed({"x": nested(70)})}, "canonical"), ({"schema": closed({"x": nested(5000)})}, "canonical"),
        ({"schema": '{"type": "object", "type": "string"}'}, "canonical"),
        ({"schema": closed({"x": {"$ref": "https://example.org/x.json"}})}, "kept to exactly"),
        ({"schema": closed({"x": {"$ref": "#/$defs/gone"}})}, "kept to exactly"),
        ({"schema": closed({"x": {"type": "string", "pattern": "("}})}, "kept to exactly"),
        ({"schema": closed({"x": {"type": "string", "pattern": r"(a)\1"}})}, "kept to exactly"),
        ({"schema": closed({"x": {"const": 1}}, required=["x"], not_={}, **{"not": {}})}, "kept to exactly"),
        ({"schema": closed({"x": {"type": "integer", "maximum": 2**60}})}, "canonical"),
        ({"schema": closed({"x": {"const": float("nan")}})}, "canonical"),
        ({"schema": closed({"x": {"const": "\ud800"}})}, "canonical"),
        ({"schema": "{"}, "canonical"), ({"schema": 3}, "canonical"),
        ({"schema": closed({"y": {"type": "string"}})}, "does not fit"),
        ({"schema": closed({"x": {"type": "string"}}, **{"not": {"patternProperties": {"^x$": {"const": "a"}}}})},
         "patternProperties"),
        ({"schema": closed({"x": {"type": "integer", "minimum": 1, "exclusiveMinimum": True}})}, "cannot be checked"),
    ],
)  # fmt: skip
def test_refused_at_declaration(options: dict[str, Any], message: str) -> None:
    schema = closed({"x": {"type": "string"}})
    with pytest.raises(glr.ToolError, match=message) as error:
        tool(**{"version": "1", "capability": "read", "schema": schema, **options})(one)
    assert error.value.reason is glr.Reason.TOOL_DECLARATION


def untyped(x) -> None:  # type: ignore[no-untyped-def] # that it is refused is what is tested
    pass


def positional(x: int, /) -> None:
    pass


def many(*x: int) -> None:
    pass


def keywords(**x: int) -> None:
    pass


def open_dict(x: dict[str, int]) -> None:
    pass


def foreign(x: complex) -> None:
    pass


async def waiting(x: int) -> None:
    pass


def generating(x: int) -> Iterator[int]:
    yield x


@pytest.mark.parametrize("function", [untyped, positional, many, keywords, open_dict, foreign, waiting, generating])
def test_functions_that_cannot_be_tools(function: Callable[..., Any]) -> None:
    with pytest.raises(glr.ToolError, match=function.__name__):
        tool(version="1", capability="read")(function)


def test_references_within_a_schema_are_meant_from_its_root() -> None:
    """Also where it is a part of the call's schema, and where another tool has a definition of the same name."""

    def schema(values: list[int]) -> dict[str, Any]:
        return closed({"x": {"$ref": "#/$defs/value"}}, required=["x"], **{"$defs": {"value": {"enum": values}}})

    declared = [
        tool(version="1", capability="read", isolated=False, name=f"t{value}", schema=schema([value]))(one)
        for value in (1, 2)
    ]
    broker = Broker(Manifest(declared), automatic=["t1", "t2"])
    for each in declared:
        for value in (1, 2):
            outcome = broker.execute(declared_tools.text_of(each, {"x": value}), broker.issue())
            assert outcome.executed == (each.name == f"t{value}")


@pytest.mark.parametrize(
    ("format_name", "right", "wrong"),
    [("date", "2024-02-29", "2023-02-29"), ("ipv4", "10.0.0.1", "10.0.0.256"), ("email", "a@b.org", "a")],
)
def test_formats_are_checked(format_name: str, right: str, wrong: str) -> None:
    schema = closed({"x": {"type": "string", "format": format_name}})
    declared = tool(version="1", capability="read", schema=schema)(one)
    assert declared.checker.fault({"x": right}) == ""
    assert declared.checker.fault({"x": wrong}) == "#/x: format is not met"


def test_patterns_are_those_of_the_grammar_and_take_linear_time() -> None:
    declared = tool(version="1", capability="read", schema=closed({"x": {"type": "string", "pattern": "^(a+)+$|b"}}))(
        one
    )
    assert declared.checker.fault({"x": "aaaa"}) == ""
    assert declared.checker.fault({"x": "a!b!a"}) == ""  # searched for, not anchored
    # Python's re would take longer than the universe is old.
    assert declared.checker.fault({"x": "a" * 10_000 + "!"}) == "#/x: pattern is not met"


def test_checks_are_bounded() -> None:
    """Two alternatives that both go on with the whole schema: the checks double with each level."""

    def alternative(key: str) -> dict[str, Any]:
        return closed({"next": {"$ref": "#/$defs/node"}, key: {"type": "boolean"}}, required=[key])

    schema = closed(
        {"x": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": {"anyOf": [alternative("a"), alternative("b")]}}}
    )
    declared = tool(version="1", capability="read", schema=schema)(one)
    node: dict[str, Any] = {"b": True}
    for _ in range(3):
        node = {"next": node, "b": True}
    assert declared.checker.fault({"x": node}) == ""
    for _ in range(40):
        node = {"next": node, "b": True}
    assert "not decided" in declared.checker.fault({"x": node})


def test_unique_items_take_linear_time() -> None:
    schema = closed({"x": {"type": "array", "items": {"enum": [1, "a", True]}, "uniqueItems": True}})
    declared = tool(version="1", capability="read", schema=schema)(one)
    assert declared.checker.fault({"x": [1, "a", True]}) == ""
    assert declared.checker.fault({"x": [1, "a", 1.0]}) == "#/x: uniqueItems is not met"
    # Each pair compared would take minutes.
    assert declared.checker.fault({"x": [1, "a"] * 20_000}) == "#/x: uniqueItems is not met"


def test_a_manifest_is_hashed_over_everything_that_was_declared() -> None:
    def declare(**changes: Any) -> Manifest:
        options: dict[str, Any] = {"version": "1", "capability": "read", "isolated": False, "name": "one"}
        schema = closed({"x": {"type": "string"}})
        return Manifest([tool(**{**options, "schema": schema, **changes})(one), declared_tools.search])

    first = declare()
    changes: list[dict[str, Any]] = [
        {"version": "2"}, {"capability": "write"}, {"name": "two"}, {"description": "other"}, {"timeout": 3.0},
        {"max_bytes": 7}, {"schema": closed({"x": {"type": "boolean"}})},
    ]  # fmt: skip
    hashes = {declare(**change).hash for change in changes}
    assert len(hashes | {first.hash}) == len(changes) + 1
    assert declare().hash == first.hash
    assert Manifest(reversed(list(first))).hash == first.hash
    assert len(first) == 2
    assert "one" in first
    assert "two" not in first


def test_manifests_that_are_refused() -> None:
    twin = tool(version="9", capability="read", name="search", isolated=False)(lambda: None)
    with pytest.raises(glr.ToolError, match="two tools have this name"):
        Manifest([declared_tools.search, twin])
    not_a_tool: Any = one
    with pytest.raises(glr.ToolError, match="is no tool"):
        Manifest([not_a_tool])


def test_a_tool_is_pickled_by_its_name() -> None:
    data = pickle.dumps(declared_tools.apart)
    assert pickle.loads(data) is declared_tools.apart
    assert len(data) < 100
    assert isinstance(declared_tools.apart, Tool)


# RFC 8785, section 3.2.2 and appendix B.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (5e-324, "5e-324"), (-1.7976931348623157e308, "-1.7976931348623157e+308"),
        (9007199254740992.0, "9007199254740992"), (295147905179352830000.0, "295147905179352830000"),
        (1e21, "1e+21"), (9.999999999999997e22, "9.999999999999997e+22"), (1e23, "1e+23"), (1e-6, "0.000001"),
        (1e-7, "1e-7"), (333333333.3333332, "333333333.3333332"), (0.1 + 0.2, "0.30000000000000004"), (4.5, "4.5"),
        (1e30, "1e+30"), (1e-27, "1e-27"), (1424953923781206.2, "1424953923781206.2"), (100, "100"),
        ("\u20ac$\x0f\nA'B\"\\\\\"/\x7f", '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f"'), (None, "null"), (True, "true"),
        ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7},
         '{"\\r":2,"1":4,"\x80":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'),
        ([1, {"b": [], "a": {}}], '[1,{"a":{},"b":[]}]'),
    ],
)  # fmt: skip
def test_canonical_json(value: Any, text: str) -> None:
    assert canonical(value).decode() == text
    assert digest(value) == hashlib.sha256(text.encode()).hexdigest()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON_VALUES)
def test_canonical_json_is_the_value_and_one_text(value: Any) -> None:
    text = canonical(value)
    assert from_canonical(text) == value
    assert canonical(from_canonical(text)) == text
    assert canonical(json.loads(json.dumps(value))) == text
