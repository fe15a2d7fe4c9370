"""Free text up to a trigger, as a grammar: the one place that knows how an assistant's turn is composed.

A turn is written in phases, each under a grammar of its own, and the next one begins at the byte at which the last one
ended: free text, which ends where the trigger is complete; a payload; what stands between payloads. A token cannot
reach over such a seam, which is how special tokens and the host's markers stay apart from what the model spells.
"""

from __future__ import annotations

from .._core import Grammar, Vocabulary
from .chat_formats import ChatFormat


def control_token(vocabulary: Vocabulary, trigger: str) -> int | None:
    """The control token that the trigger is in this vocabulary, None where it is text."""
    token = vocabulary.find(trigger)
    return token if token is not None and vocabulary.is_control(token) else None


def free_text(chat_format: ChatFormat, vocabulary: Vocabulary, *, may_call: bool) -> Grammar:
    """Any text that does not hold the trigger; with `may_call` also such a text and then the trigger, where it ends."""
    trigger = chat_format.trigger
    token = control_token(vocabulary, trigger)
    if token is not None:
        # Text never makes a control token.
        return Grammar.from_gbnf(f"root ::= .* <[{token}]>?" if may_call else "root ::= .*")
    if chat_format.at_start:
        first = _literal(trigger)
        return Grammar.from_gbnf(f"root ::= ([^{_class(trigger)}] .*)?" + (f" | {first}" if may_call else ""))
    return Grammar.from_gbnf(_without(trigger, may_call))


def _without(trigger: str, may_call: bool) -> str:
    """The automaton of Knuth, Morris and Pratt, a rule a state: s3 is where the text ends with three of the trigger."""
    alphabet = sorted(set(trigger))
    rules = []
    for state in range(len(trigger)):
        after = [f"[^{_class(trigger)}] s0"]
        for character in alphabet:
            target = _next(trigger, state, character)
            if target < len(trigger):
                after.append(f"{_literal(character)} s{target}")
            elif may_call:
                after.append(_literal(character))
        rules.append(f"s{state} ::= ({' | '.join(after)})?")
    return "root ::= s0\n" + "\n".join(rules) + "\n"


def _next(trigger: str, state: int, character: str) -> int:
    """How much of the trigger the text ends with, after one more character."""
    read = trigger[:state] + character
    return next(size for size in range(len(read), -1, -1) if trigger.startswith(read[len(read) - size :]))


def _literal(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _class(text: str) -> str:
    return "".join(map(_escaped, sorted(set(text))))


def _escaped(character: str) -> str:
    return f"\\U{ord(character):08X}"
