"""The calculator against Python's own arithmetic, and against decimal where that rounds to the same double."""

from __future__ import annotations

import decimal
import math
import re

import glrsampler as glr
import pytest
from glrsampler.tools import calculator as tool
from glrsampler.tools.calculator import (
    GRAMMAR,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NODES,
    SCHEMA,
    CalculatorError,
    calculate,
    evaluate,
    record_text,
)
from glrsampler.tools.canonical import from_canonical
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1e308, allow_nan=False).map(repr),
    st.sampled_from(["0", "0.0", ".5", "2.", "1e308", "5e-324", "1.7976931348623157e308", "0.1", "1e-320", "3e2"]),
)
EXPRESSIONS = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/^"), inner).map(" ".join),
        st.tuples(inner, st.sampled_from("+-*/^"), inner).map(lambda parts: f"({parts[0]}){parts[1]}({parts[2]})"),
        st.tuples(st.sampled_from(["-", "+", "- "]), inner).map("".join),
        st.tuples(st.sampled_from(["", "sqrt", "abs", "round", "floor", "ceil"]), inner).map("{0[0]}({0[1]})".format),
    ),
    max_leaves=8,
)
# What Python reads: its ** binds and associates as ^ does here.
NAMES = {
    "sqrt": math.sqrt,
    "abs": abs,
    "round": lambda value: float(round(value)),
    "floor": lambda value: float(math.floor(value)),
    "ceil": lambda value: float(math.ceil(value)),
}


def in_python(expression: str) -> float | None:
    """Python's value; None where it has none that is a finite real number."""
    number = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    text = re.sub(number, lambda found: f"float('{found.group()}')", expression.replace("^", "**"))
    try:
        value = eval(text, {"__builtins__": {"float": float}}, NAMES)
    except (ArithmeticError, ValueError, TypeError):
        return None  # TypeError: a complex number was compared or rounded
    return value if isinstance(value, float) and math.isfinite(value) else None


@given(EXPRESSIONS)
def test_the_value_is_pythons(expression: str) -> None:
    record = calculate(expression)
    expected = in_python(expression)
    if "error" in record:
        # Python goes on with infinities where this is an overflow already, and with complex numbers.
        assert record["error"] in {
            "overflow",
            "division by zero",
            "domain error: a negative number to a broken power",
            "domain error: the square root of a negative number",
        }, expression
        if record["error"] == "division by zero":
            assert expected is None
    else:
        assert expected is not None, expression
        assert record["result"] == expected


@given(EXPRESSIONS)
def test_a_record_is_canonical_and_deterministic(expression: str) -> None:
    record = calculate(expression)
    assert record.keys() == {"expression", "result"} or record.keys() == {"expression", "error"}
    assert record_text(record) == record_text(calculate(expression))
    assert from_canonical(record_text(record)) == record


@given(st.floats(-1e150, 1e150), st.sampled_from("+-*/"), st.floats(-1e150, 1e150))
def test_one_operation_is_the_exact_value_rounded_once(left: float, operator: str, right: float) -> None:
    if operator == "/" and right == 0.0:
        return
    with decimal.localcontext(decimal.Context(prec=2200, Emax=999_999, Emin=-999_999)):
        a, b = decimal.Decimal(left), decimal.Decimal(right)
        exact = {"+": a + b, "-": a - b, "*": a * b}.get(operator) if operator != "/" else a / b
        expected = float(exact)
    record = calculate(f"({left!r}) {operator} ({right!r})")
    assert record.get("result") == expected if math.isfinite(expected) else record["error"] == "overflow"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1+2*3", 7.0), ("(1+2)*3", 9.0), ("-2^2", -4.0), ("(-2)^2", 4.0), ("2^3^2", 512.0), ("2^-1", 0.5),
        ("2^-2^2", 0.0625), ("--3", 3.0), ("-+-3", 3.0), ("8/4/2", 1.0), ("10-4-3", 3.0), ("0^0", 1.0),
        ("0.1+0.2", 0.30000000000000004), ("round(0.5)", 0.0), ("round(1.5)", 2.0), ("round(2.5)", 2.0),
        ("floor(-1.5)", -2.0), ("ceil(-1.5)", -1.0), ("abs(-3)", 3.0), ("sqrt(2)", math.sqrt(2)), ("5e-324/2", 0.0),
        ("1e308*10^-1", 1e308 * 0.1), ("\t1 +\t 2 ", 3.0), (".5+2.", 2.5), ("2*-3", -6.0),
        ("9007199254740993", 2.0**53),
        ("(-8)^3", -512.0), ("round(1e308)", 1e308), ("2^1023*1.5", 1.5 * 2.0**1023), ("1e0005", 1e5),
    ],
)  # fmt: skip
def test_values(expression: str, value: float) -> None:
    assert evaluate(expression) == value


def test_signed_zeros_are_kept_inside_and_plain_in_the_record() -> None:
    assert math.copysign(1.0, evaluate("-0")) == -1.0
    assert math.copysign(1.0, evaluate("ceil(-0.5)")) == -1.0
    assert record_text(calculate("-0")) == '{"expression":"-0","result":0}'


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("", "the expression is empty"), (" \t ", "the expression is empty"), ("1+", "the expression ends too early"),
        ("(1", "a bracket is not closed"), ("1)", "trailing text after the expression"), ("()", "a number is missing"),
        ("1 2", "trailing text after the expression"), ("2(3)", "trailing text after the expression"),
        ("(1 2)", "an operator is missing"), ("*1", "a number is missing"), ("1**2", "a number is missing"),
        ("1 + $", "unexpected character"), ("1;import os", "unexpected character"), ("1\n+1", "unexpected character"),
        ("\u0661+1", "unexpected character"), ("1\u00a0+1", "unexpected character"), ("1\x00", "unexpected character"),
        ("sin(1)", "unknown name"), ("negate(1)", "unknown name"), ("inf", "unknown name"), ("nan", "unknown name"),
        ("Sqrt(4)", "unexpected character"), ("sqrt 4", "a function needs brackets"), ("1_000", "unexpected character"),
        ("1,5", "unexpected character"), ("0x10", "unknown name"), ("__import__", "unexpected character"),
        ("1/0", "division by zero"), ("0/0", "division by zero"), ("1/(1-1)", "division by zero"),
        ("0^-1", "division by zero"), ("1e309", "overflow"), ("1e308*10", "overflow"), ("10^309", "overflow"),
        ("-10^309", "overflow"), ("1e308+1e308", "overflow"), ("1e300/1e-300", "overflow"),
        ("(-8)^(1/3)", "domain error: a negative number to a broken power"),
        ("sqrt(-1)", "domain error: the square root of a negative number"),
        ("1/0+", "the expression ends too early"), ("1/0 x", "unknown name"),
        ("1" * (MAX_CHARACTERS + 1), f"the expression is longer than {MAX_CHARACTERS} characters"),
        ("1+" * 128 + "1", f"the expression has more than {MAX_NODES} nodes"),
        ("(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1), f"the expression is nested deeper than {MAX_DEPTH}"),
        ("-" * (MAX_DEPTH + 1) + "1", f"the expression is nested deeper than {MAX_DEPTH}"),
        ("2^" * (MAX_DEPTH + 1) + "1", f"the expression is nested deeper than {MAX_DEPTH}"),
    ],
)  # fmt: skip
def test_errors(expression: str, error: str) -> None:
    assert calculate(expression) == {"expression": expression, "error": error}


@pytest.mark.parametrize("unit", ["1+", "(", "-", "2^", "sqrt(", "1 "])
def test_the_bounds_are_reached_and_not_passed(unit: str) -> None:
    """Whatever is repeated, there is an answer, and never an exception of Python's."""
    for count in range(1, MAX_CHARACTERS, 7):
        record = calculate((unit * count + "1")[:MAX_CHARACTERS])
        assert ("result" in record) != ("error" in record)
    assert evaluate("1+" * 127 + "1") == 128.0
    assert evaluate("(" * MAX_DEPTH + "1" + ")" * MAX_DEPTH) == 1.0


@given(st.text(st.sampled_from("0123456789.eE+-*/^() \tsqrtabfloc$,_"), max_size=40) | st.text(max_size=40))
def test_any_text_has_a_record(text: str) -> None:
    record = calculate(text)
    assert ("result" in record) != ("error" in record)


SYNTAX = {
    "the expression is empty", "the expression ends too early", "a bracket is not closed", "a number is missing",
    "trailing text after the expression", "an operator is missing", "unexpected character", "unknown name",
    "a function needs brackets",
}  # fmt: skip
GBNF = glr.Grammar.from_gbnf(GRAMMAR)
SCHEMATIC = glr.Grammar.from_json_schema(SCHEMA, whitespace="compact", profile="strict")


@given(EXPRESSIONS | st.text(st.sampled_from("0123456789.e+-*/^() sqrtabfloc"), max_size=12))
def test_the_grammar_is_the_parsers_language(text: str) -> None:
    """Apart from runs of white space, which the grammar does not write."""
    text = re.sub("[ \t]+", " ", text)
    assert GBNF.matches(text) == (calculate(text).get("error") not in SYNTAX), text


@given(EXPRESSIONS | st.text(st.sampled_from("0123456789.+-*/^() sqrtabfloc"), max_size=12))
def test_what_a_model_may_write_is_an_expression(text: str) -> None:
    if SCHEMATIC.matches('{"expression":"' + text + '"}'):
        assert GBNF.matches(text)
        assert calculate(text).get("error") not in SYNTAX


@pytest.mark.parametrize(
    "text", ["1", "12 * 34", "-2^2", "sqrt(2) + (3 - 1.5)/2", "((1+2)*(3+4))^2", "floor((1+(2*3))/2)", "-(1)", "2^-1"]
)
def test_a_model_may_write_usual_expressions(text: str) -> None:
    assert SCHEMATIC.matches('{"expression":"' + text + '"}')


def test_the_tool_is_declared_as_reading_and_bounded() -> None:
    assert (tool.name, tool.capability, tool.isolated) == ("calculator", "read", False)
    assert tool("1+1") == {"expression": "1+1", "result": 2.0}
    longest = calculate("1" * SCHEMA["properties"]["expression"]["maxLength"])
    assert len(record_text(longest)) < tool.max_bytes
    with pytest.raises(CalculatorError):
        evaluate("x")
