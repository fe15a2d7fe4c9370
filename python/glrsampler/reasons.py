"""Every way a run or a compile can end, with a fixed code, what it means and what to do.

`python -m glrsampler.reasons` prints the table of docs/failures.md.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Status = Literal["complete", "length", "cancelled", "dead_end", "error"]


class Reason(StrEnum):
    """Why a run or a compile ended. Equal to its name as a string; codes and names do not change.

    `status` is what a run that ends so has as its status; "error" for what is raised as an exception. A run cut
    off by a stop string is complete when what stands before it is a sentence.
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


def table() -> str:
    """The taxonomy as a Markdown page."""
    lines = [
        "# How a run or a compile can end",
        "",
        "Generated from `glrsampler.Reason` by `python -m glrsampler.reasons`. Nothing is retried silently: each of",
        "these ends the run or the compile. Codes below 200 are reasons of a result (`result.reason`, `event.reason`);",
        "the others are raised as the exception that the meaning names, which has the reason as `error.reason`.",
        "A stop string after a whole sentence gives the status `complete`.",
        "",
        "| code | reason | status | meaning | remedy |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {r.code} | `{r.value}` | {r.status} | {r.meaning} | {r.remedy} |" for r in Reason]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
