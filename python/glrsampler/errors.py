"""Errors of the library. All derive from `Error` and name the place, the cause and the way out."""

from __future__ import annotations

from .reasons import Reason


class Error(Exception):
    """Anything that this library refuses or cannot do; `reason` is its place in the taxonomy."""

    reason: Reason = Reason.INTERNAL


class GrammarError(Error):
    """A text is not a grammar, or a grammar cannot be compiled for a vocabulary.

    `line` and `column` count from 1, columns in code points; both are 0 when there is no one place.
    `hint` says what to do, or is empty.
    """

    reason = Reason.GRAMMAR

    def __init__(self, message: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(message, line, column, hint)
        self.line = line
        self.column = column
        self.hint = hint

    def __str__(self) -> str:
        return str(self.args[0])


class SchemaError(GrammarError):
    """A JSON Schema that is none, cannot be enforced exactly, or is met by no value.

    `pointer` is the JSON pointer of the cause, as a URI fragment: "#/properties/a". `line` and `column` are those of a
    schema that stands in a grammar.
    """

    reason = Reason.SCHEMA

    def __init__(self, message: str, pointer: str = "#", hint: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message, line, column, hint)
        self.args = (message, pointer, hint, line, column)
        self.pointer = pointer


class BudgetError(Error):
    """A compile would exceed one of `Limits`: `budget` is its name, `rule` the rule that was compiled."""

    reason = Reason.BUDGET

    def __init__(self, message: str, budget: str = "", limit: int = 0, value: int = 0, rule: str = "") -> None:
        super().__init__(message, budget, limit, value, rule)
        self.budget = budget
        self.limit = limit
        self.value = value
        self.rule = rule

    def __str__(self) -> str:
        return str(self.args[0])


class RejectedToken(Error):
    """A token or a text that the grammar does not allow here; `offset` is the byte at which it fails."""

    reason = Reason.REJECTED

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message, offset)
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])


class IncompatibleArtifact(Error):
    """A saved constraint that is damaged, of another version, or of another vocabulary."""

    reason = Reason.ARTIFACT


class VocabularyError(Error):
    """A file or model without a vocabulary that this library can read."""

    reason = Reason.VOCABULARY


class LlamaAbiError(Error):
    """llama-cpp-python is missing, or the library it loaded is not laid out as expected."""

    reason = Reason.LLAMA_ABI


class ToolError(Error):
    """A tool, or a set of tools, that cannot be trusted as declared; see glrsampler.tools."""

    reason = Reason.TOOL_DECLARATION


class UntrustedTokenError(Error):
    """Untrusted text became a control token of the model; see glrsampler.tools.reinsertion."""

    reason = Reason.UNTRUSTED_TOKEN
