"""JSON in one reading: what it takes is what json takes; what two readers could disagree on is refused."""

from __future__ import annotations

import json

import pytest
from glrsampler.tools.strict_json import MAX_DEPTH, parse
from hypothesis import given
from hypothesis import strategies as st

WHOLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WHOLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WHOLE, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_values_are_read_back(value: object, ascii_only: bool, indent: int | None) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only, indent=indent)) == value


@given(st.text(st.sampled_from('{}[]":,\\ \n0123456789.eE+-truefalsnNIu/d8')) | st.text())
def test_what_is_read_is_what_json_reads(text: str) -> None:
    try:
        value = parse(text)
    except ValueError:
        return
    assert json.loads(text) == value
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("twice", ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '[{"x":{"b":1,"b":2}}]']),
        ("is no JSON", ["NaN", "[Infinity]", "-Infinity"]),
        ("does not hold", ["1e400", "-1e400", str(2**53), str(-(2**53)), "9" * 5000]),
        ("surrogates", ['"\\ud800"', '{"\\udc00":1}', '"\\ud83d\\u0020"']),
        ("nested", ["[" * 100_000, "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), '{"a":' * 100 + "1" + "}" * 100]),
        ("Expecting value|trailing comma", ["", "[1,]", "+1", ".5", "'a'"]),
        ("Extra data", ["01", "1 2", "{}{}"]),
    ],
)
def test_refused(message: str, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=message):
            parse(text)


def test_brackets_in_strings_are_no_depth() -> None:
    assert parse(json.dumps(["[" * 500 + '"\\' + "{" * 500])) == ["[" * 500 + '"\\' + "{" * 500]
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert parse('"\\ud83d\\ude00"') == "\U0001f600"
