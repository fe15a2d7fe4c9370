"""The calculator: arithmetic on IEEE 754 doubles, and nothing else. The first built-in tool.

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/") signed)*
    signed  = ("+" | "-") signed | power
    power   = atom ("^" signed)?
    atom    = number | function "(" sum ")" | "(" sum ")"

`^` binds tighter than a sign on its left and associates to the right: -2^2 is -4, 2^3^2 is 512, 2^-1 is 0.5. Functions
are sqrt, abs, floor, ceil and round (halves to even). A Pratt parser writes postfix code, which is run only when the
whole text was read; so a text that is no expression is never computed in part. Every operation is the double's own,
rounded to nearest; an overflow is an error, an underflow is 0 or a denormal as the standard has it. `^` is the C
library's pow, exact to the last bit on whole numbers, elsewhere as good as that library.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any, Final

from .canonical import canonical
from .declaration import tool

#: Bounds on what is read: characters, numbers plus operations, brackets and signs in each other.
MAX_CHARACTERS: Final = 512
MAX_NODES: Final = 256
MAX_DEPTH: Final = 64

#: The same language as GBNF, with at most one space between two tokens.
GRAMMAR: Final = r"""
root     ::= ws sum ws
sum      ::= product (ws [+\-] ws product)*
product  ::= signed (ws [*/] ws signed)*
signed   ::= [+\-] ws signed | power
power    ::= atom (ws "^" ws signed)?
atom     ::= number | (function ws)? "(" ws sum ws ")"
function ::= "sqrt" | "abs" | "round" | "floor" | "ceil"
number   ::= ([0-9]+ ("." [0-9]*)? | "." [0-9]+) ([eE] [+\-]? [0-9]+)?
ws       ::= " "?
"""


class CalculatorError(Exception):
    """Why there is no result; the message is one of a fixed set."""


_TOKEN = re.compile(r"[ \t]*(?:((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|([a-z]+)|([-+*/^()]))")
_BLANK = " \t"

_SUM, _PRODUCT, _SIGN, _POWER = 10, 20, 30, 40
_BINDING: Final = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "^": _POWER}


def evaluate(expression: str) -> float:
    """The value of `expression`; CalculatorError when there is none."""
    return _run(_Parser(expression).code)


def _power(base: float, exponent: float) -> float:
    if base == 0.0 and exponent < 0.0:
        raise CalculatorError("division by zero")
    if base < 0.0 and not exponent.is_integer():
        raise CalculatorError("domain error: a negative number to a broken power")
    return math.pow(base, exponent)  # OverflowError beyond a double


def _divide(left: float, right: float) -> float:
    if right == 0.0:
        raise CalculatorError("division by zero")
    return left / right


def _root(value: float) -> float:
    if value < 0.0:
        raise CalculatorError("domain error: the square root of a negative number")
    return math.sqrt(value)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    # The sign of a zero is kept, as IEEE 754 has it.
    return lambda value: math.copysign(float(function(value)), value)


_FUNCTIONS: Final[dict[str, Callable[[float], float]]] = {
    "sqrt": _root,
    "abs": abs,
    "round": _whole(round),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
}
_UNARY: Final[dict[str, Callable[[float], float]]] = {**_FUNCTIONS, "negate": operator.neg}
_BINARY: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "^": _power,
}


class _Parser:
    """Reads an expression to the end; `code` is its postfix form."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise CalculatorError(f"the expression is longer than {MAX_CHARACTERS} characters")
        self.text = text
        self.at = 0
        self.code: list[float | str] = []
        self.token: float | str = ""  # "" is the end
        self._advance()
        if self.token == "":
            raise CalculatorError("the expression is empty")
        self._operand(0, 0)
        if self.token != "":
            raise CalculatorError("trailing text after the expression")

    def _advance(self) -> None:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            if self.text[self.at :].strip(_BLANK):
                raise CalculatorError("unexpected character")
            self.token = ""
            return
        number, name, sign = found.groups()
        self.at = found.end()
        if number is not None:
            value = float(number)
            if math.isinf(value):
                raise CalculatorError("overflow")
            self.token = value
        elif name is not None and name not in _FUNCTIONS:
            raise CalculatorError("unknown name")
        else:
            self.token = name or sign

    def _emit(self, node: float | str) -> None:
        if len(self.code) == MAX_NODES:
            raise CalculatorError(f"the expression has more than {MAX_NODES} nodes")
        self.code.append(node)

    def _operand(self, binding: int, depth: int) -> None:
        """Reads what binds tighter than `binding`. Recursion is bounded by MAX_DEPTH."""
        if depth > MAX_DEPTH:
            raise CalculatorError(f"the expression is nested deeper than {MAX_DEPTH}")
        self._prefix(depth)
        while isinstance(self.token, str) and _BINDING.get(self.token, 0) > binding:
            sign = self.token
            self._advance()
            # A sign that associates to the right admits itself on its right.
            self._operand(_BINDING[sign] - (sign == "^"), depth + 1)
            self._emit(sign)

    def _prefix(self, depth: int) -> None:
        token = self.token
        if isinstance(token, float):
            self._advance()
            self._emit(token)
        elif token in ("+", "-"):
            self._advance()
            self._operand(_SIGN, depth + 1)
            if token == "-":
                self._emit("negate")
        elif token == "(":
            self._bracket(depth)
        elif token in _FUNCTIONS:
            self._advance()
            if self.token != "(":
                raise CalculatorError("a function needs brackets")
            self._bracket(depth)
            self._emit(token)
        elif token == "":
            raise CalculatorError("the expression ends too early")
        else:
            raise CalculatorError("a number is missing")

    def _bracket(self, depth: int) -> None:
        self._advance()
        self._operand(0, depth + 1)
        if self.token != ")":
            raise CalculatorError("a bracket is not closed" if self.token == "" else "an operator is missing")
        self._advance()


def _run(code: list[float | str]) -> float:
    stack: list[float] = []
    for node in code:
        if isinstance(node, float):
            stack.append(node)
            continue
        try:
            if node in _UNARY:
                value = _UNARY[node](stack.pop())
            else:
                right = stack.pop()
                value = _BINARY[node](stack.pop(), right)
        except OverflowError:
            raise CalculatorError("overflow") from None
        if math.isinf(value):
            raise CalculatorError("overflow")
        if math.isnan(value):
            raise CalculatorError("not a number")
        stack.append(value)
    return stack.pop()


def calculate(expression: str) -> dict[str, Any]:
    """The record {expression, result} or {expression, error}; `record_text` is its canonical form."""
    try:
        return {"expression": expression, "result": evaluate(expression)}
    except CalculatorError as error:
        return {"expression": expression, "error": str(error)}


def record_text(record: dict[str, Any]) -> str:
    """The canonical JSON text (RFC 8785) of a record: equal records have equal bytes."""
    return canonical(record).decode()


def _expression_pattern(nesting: int) -> str:
    """Expressions with at most so many brackets in each other, as a regular expression: precedence does not matter
    to what is an expression, so it is operands with operators between them."""
    number = r"[0-9]{1,15}(?:\.[0-9]{1,15})?"
    atom = number
    for _ in range(nesting):
        flat = rf"(?:-?{atom} ?[+*/^-] ?)*-?{atom}"
        atom = rf"(?:{number}|(?:sqrt|abs|round|floor|ceil)?\({flat}\))"
    return rf"^(?:-?{atom} ?[+*/^-] ?)*-?{atom}$"


#: What a model may write: brackets three deep at most, fewer characters than the parser reads.
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "expression": {
            "type": "string",
            "description": "numbers, + - * / ^, brackets, sqrt abs round floor ceil",
            "pattern": _expression_pattern(3),
            "maxLength": 120,
        }
    },
    "required": ["expression"],
    "additionalProperties": False,
}


@tool(version="1", capability="read", schema=SCHEMA, isolated=False, max_bytes=2048)
def calculator(expression: str) -> dict[str, Any]:
    """Computes an arithmetic expression, for example (2 + 3) * 4."""
    return calculate(expression)
