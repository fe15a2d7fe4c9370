"""Grammar-constrained sampling for llama.cpp.

grammar = glrsampler.Grammar.from_gbnf('root ::= "yes" | "no"')
vocabulary = glrsampler.Vocabulary.from_llama(llm)
sampler = glrsampler.Sampler(grammar.compile(vocabulary))
print(glrsampler.generate(llm, "Is water wet? ", sampler).text)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import (
    Constraint,
    ConstraintStats,
    Explanation,
    Grammar,
    Limits,
    Matcher,
    Sampler,
    Utf8Buffer,
    Vocabulary,
    __version__,
)
from .composition import (
    Node,
    any_text,
    choice,
    intersection,
    json_schema,
    literal,
    regex,
    repeat,
    rule,
    sequence,
    special_token,
    substring_of,
    triggered,
)
from .errors import (
    BudgetError,
    Error,
    GrammarError,
    IncompatibleArtifact,
    LlamaAbiError,
    RejectedToken,
    SchemaError,
    ToolError,
    UntrustedTokenError,
    VocabularyError,
)
from .generation import Event, Result, generate, stream
from .reasons import Reason
from .schemas import json_object
from .validation import Violation, source_spans, validate

if TYPE_CHECKING:
    from . import tools as tools
    from .llama import Llama

__all__ = [
    "BudgetError",
    "Constraint",
    "ConstraintStats",
    "Error",
    "Event",
    "Explanation",
    "Grammar",
    "GrammarError",
    "IncompatibleArtifact",
    "Limits",
    "Llama",
    "LlamaAbiError",
    "Matcher",
    "Node",
    "Reason",
    "RejectedToken",
    "Result",
    "Sampler",
    "SchemaError",
    "ToolError",
    "UntrustedTokenError",
    "Utf8Buffer",
    "Violation",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "any_text",
    "choice",
    "generate",
    "intersection",
    "json_object",
    "json_schema",
    "literal",
    "regex",
    "repeat",
    "rule",
    "sequence",
    "source_spans",
    "special_token",
    "stream",
    "substring_of",
    "triggered",
    "validate",
]


def __getattr__(name: str) -> Any:
    # Needs packages of its own, those of the extra `tools`.
    if name == "tools":
        return importlib.import_module(".tools", __name__)
    # llama-cpp-python is not needed for anything else, and takes a second to import.
    if name == "Llama":
        from . import _abi

        _abi.llama_cpp()  # says so when it is missing
        from .llama import Llama

        return Llama
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
