"""Every way a run, a compile or a tool call can end, with a fixed code, what it means and what to do.

`python -m glrsampler.reasons` prints the table of docs/failures.md.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Status = Literal["complete", "length", "cancelled", "dead_end", "error"]


class Reason(StrEnum):
    """Why a run, a compile or a tool call ended. Equal to its name as a string; codes and names do not change.

    `status` is what a run or a call that ends so has as its status; "error" for what is raised as an exception. A run
    cut off by a stop string is complete when what stands before it is a sentence.
    """

    code: int
    status: Status
    meaning: str
    remedy: str

    def __new__(cls, name: str, code: int, status: Status, meaning: str, remedy: str) -> Reason:
        """The member of this name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.code, member.status, member.meaning, member.remedy = code, status, meaning, remedy
        return member

    END_TOKEN = ("end_token", 100, "complete", "The model ended the text where the grammar let it.", "None needed.")
    GRAMMAR_END = ("grammar_end", 101, "complete", "The grammar lets nothing follow.", "None needed.")
    STOP_STRING = (
        "stop_string", 110, "length", "A stop string came; it is left out of the text.",
        "If the text should be a sentence of the grammar, choose a stop string that only follows sentences.",
    )  # fmt: skip
    MAX_TOKENS = ("max_tokens", 120, "length", "The limit of tokens is reached.", "Raise max_tokens.")
    CONTEXT_FULL = (
        "context_full", 121, "length", "The model's context is full.",
        "Load the model with a larger n_ctx, or shorten the prompt.",
    )  # fmt: skip
    CANCELLED = ("cancelled", 130, "cancelled", "`cancel` said so. The text so far is exact.", "None needed.")
    FINISHED = (
        "finished", 140, "dead_end", "An end token was accepted before: nothing can follow it.",
        "Reset the sampler, or make a new one for each text.",
    )  # fmt: skip
    NOTHING_ALLOWED = (
        "nothing_allowed", 141, "dead_end", "No token of the vocabulary can go on from here.",
        "Use the vocabulary of the model that runs; see Matcher.explain() for what the grammar expects.",
    )  # fmt: skip
    ALL_FORBIDDEN = (
        "all_forbidden", 142, "dead_end", "Every token that the grammar allows is in forbidden_tokens.",
        "Forbid fewer tokens, or give the grammar another way to say it.",
    )  # fmt: skip
    NO_CANDIDATE_ALLOWED = (
        "no_candidate_allowed", 143, "dead_end",
        "The grammar allows tokens, but an earlier sampler of the chain removed them all.",
        "Put this sampler before the ones that remove candidates.",
    )  # fmt: skip
    MODEL = (
        "model", 150, "error", "llama.cpp refused to evaluate a batch.",
        "See llama.cpp's messages (verbose=True); a smaller n_ctx or n_batch needs less memory.",
    )  # fmt: skip
    GRAMMAR = (
        "grammar", 200, "error", "The text is not a grammar, or not one for this vocabulary (GrammarError).",
        "The message names line and column and says what to write instead.",
    )  # fmt: skip
    SCHEMA = (
        "schema", 201, "error",
        "The JSON Schema is none, cannot be enforced exactly, or is met by no value (SchemaError).",
        "The message names the keyword by its JSON pointer; on_unsupported='warn' admits more instead.",
    )  # fmt: skip
    BUDGET = (
        "budget", 210, "error", "The compile would exceed one of Limits (BudgetError).",
        "Raise the limit that the message names, or compile lazily.",
    )  # fmt: skip
    REJECTED = (
        "rejected", 220, "error", "A token or a prefix is not allowed by the grammar (RejectedToken).",
        "The error's offset is the byte at which it fails; Matcher.explain() says what is expected there.",
    )  # fmt: skip
    VOCABULARY = (
        "vocabulary", 230, "error", "The file or model has no vocabulary that can be read (VocabularyError).",
        "Use a model with a BPE or SentencePiece vocabulary; fetch a damaged file again.",
    )  # fmt: skip
    ARTIFACT = (
        "artifact", 231, "error",
        "A saved constraint is damaged, of another version, or of another vocabulary (IncompatibleArtifact).",
        "Compile it again.",
    )  # fmt: skip
    LLAMA_ABI = (
        "llama_abi", 232, "error",
        "llama-cpp-python is missing, or its library is laid out differently (LlamaAbiError).",
        "pip install 'glrsampler[llama]' gets a version that fits.",
    )  # fmt: skip
    INTERNAL = (
        "internal", 299, "error", "Anything else that the library cannot do (Error).",
        "Please report it with the message.",
    )  # fmt: skip
    EXECUTED = ("executed", 300, "complete", "The tool ran and its result is there.", "None needed.")
    TOOL_DECLARATION = (
        "tool_declaration", 301, "error", "A tool, or a set of tools, that cannot be trusted as declared (ToolError).",
        "The message names the tool and says what to declare instead.",
    )  # fmt: skip
    CALL_INCOMPLETE = (
        "call_incomplete", 310, "error", "The call was cut off: by a limit, a cancellation or a dead end.",
        "Raise max_tokens; what came is never executed.",
    )  # fmt: skip
    CALL_MALFORMED = (
        "call_malformed", 311, "error", "The text of the call is not one JSON object of a call.",
        "Write calls under Session, or exactly as docs/tools.md shows them.",
    )  # fmt: skip
    CALL_FIELDS = (
        "call_fields", 312, "error", "The call lacks a field, or has one that the host alone fills.",
        "A call has a name, arguments, a version and a schema hash, and nothing else.",
    )  # fmt: skip
    CALL_TOO_LARGE = (
        "call_too_large", 313, "error", "The text of the call is larger than the session allows.",
        "Ask for smaller arguments, or raise max_call_bytes.",
    )  # fmt: skip
    UNKNOWN_TOOL = (
        "unknown_tool", 314, "error", "The manifest has no tool of this name.", "Declare it before the session.",
    )  # fmt: skip
    TOOL_NOT_ALLOWED = (
        "tool_not_allowed", 315, "error", "The tool is declared, but tool_choice does not let it be called here.",
        "Choose 'auto', 'required' or the name of the tool.",
    )  # fmt: skip
    VERSION_MISMATCH = (
        "version_mismatch", 316, "error", "The call is for another version of the tool.",
        "Make the call again under the present manifest.",
    )  # fmt: skip
    SCHEMA_MISMATCH = (
        "schema_mismatch", 317, "error", "The call is for another schema of the tool.",
        "Make the call again under the present manifest.",
    )  # fmt: skip
    INVALID_ARGUMENTS = (
        "invalid_arguments", 318, "error", "The arguments do not meet the tool's schema.",
        "The message names the argument by its JSON pointer.",
    )  # fmt: skip
    UNKNOWN_REQUEST = (
        "unknown_request", 319, "error", "The host has issued no request of this id.",
        "Take the id from Broker.issue(), for this broker.",
    )  # fmt: skip
    REPLAYED_REQUEST = (
        "replayed_request", 320, "error", "The request was answered before, whatever the answer was.",
        "Take a new id from Broker.issue(); a request is good for one call.",
    )  # fmt: skip
    NOT_CONFIRMED = (
        "not_confirmed", 330, "error", "The person who was asked did not say yes.", "None needed.",
    )  # fmt: skip
    CONFIRMATION_MISSING = (
        "confirmation_missing", 331, "error", "The call needs a yes, and there is nobody to ask.",
        "Give the session confirm=; list read tools in automatic=.",
    )  # fmt: skip
    CONFIRMATION_FAILED = (
        "confirmation_failed", 332, "error", "Asking for confirmation raised an exception, which is a no.",
        "Repair the callback; the message names the exception's class.",
    )  # fmt: skip
    CONFIRMATION_TIMEOUT = (
        "confirmation_timeout", 333, "error", "No answer came in time, which is a no. A later yes counts for nothing.",
        "Ask again, or raise confirm_timeout.",
    )  # fmt: skip
    TOOL_FAILED = (
        "tool_failed", 340, "error", "The tool raised an exception.", "The message names the exception's class.",
    )  # fmt: skip
    TOOL_TIMEOUT = (
        "tool_timeout", 341, "error", "The tool took longer than it declared; its process was ended.",
        "Declare a longer timeout.",
    )  # fmt: skip
    TOOL_CRASHED = (
        "tool_crashed", 342, "error", "The tool's process ended without a result, or did not start.",
        "Run the tool by itself; a script that calls tools needs `if __name__ == '__main__':`.",
    )  # fmt: skip
    RESULT_TOO_LARGE = (
        "result_too_large", 343, "error", "The result has more bytes than the tool declared.",
        "Return less, or declare a larger max_bytes.",
    )  # fmt: skip
    RESULT_INVALID = (
        "result_invalid", 344, "error", "The result is no JSON value.", "Return numbers, strings, lists and dicts.",
    )  # fmt: skip
    UNTRUSTED_TOKEN = (
        "untrusted_token", 350, "error", "Untrusted text became a control token of the model; nothing was read.",
        "Break it up with Untrusted.neutralise() first; where that was done, please report it.",
    )  # fmt: skip


def table() -> str:
    """The taxonomy as a Markdown page."""
    lines = [
        "# How a run, a compile or a tool call can end",
        "",
        "Generated from `glrsampler.Reason` by `python -m glrsampler.reasons`. Nothing is retried silently: each of",
        "these ends the run, the compile or the call. Codes below 200 are reasons of a result (`result.reason`,",
        "`event.reason`); those from 300 are reasons of a tool call (`outcome.reason`), and what refuses one executes",
        "nothing. The others, and those whose meaning names an exception, are raised as it, with the reason as",
        "`error.reason`.",
        "A stop string after a whole sentence gives the status `complete`.",
        "",
        "| code | reason | status | meaning | remedy |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {r.code} | `{r.value}` | {r.status} | {r.meaning} | {r.remedy} |" for r in Reason]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
