"""Free text up to a trigger, as a grammar: the one place that knows how an assistant's turn is composed.

A turn is written in phases, each under a grammar of its own, and the next one begins at the byte at which the last one
ended: free text, which ends where the trigger is complete; a payload; what stands between payloads. A token cannot
reach over such a seam, which is how special tokens and the host's markers stay apart from what the model spells.
"""

from __future__ import annotations

from .._core import Grammar, Vocabulary
from ..composition import Node, any_text, choice, literal, special_token, triggered
from .chat_formats import ChatFormat


def control_token(vocabulary: Vocabulary, trigger: str) -> int | None:
    """The control token that the trigger is in this vocabulary, None where it is text."""
    token = vocabulary.find(trigger)
    return token if token is not None and vocabulary.is_control(token) else None


def free_text(chat_format: ChatFormat, vocabulary: Vocabulary, *, may_call: bool) -> Grammar:
    """Any text that does not hold the trigger; with `may_call` also such a text and then the trigger, where it ends."""
    return _node(chat_format, control_token(vocabulary, chat_format.trigger), may_call).grammar()


def _node(chat_format: ChatFormat, token: int | None, may_call: bool) -> Node:
    trigger = literal(chat_format.trigger)
    if token is not None:
        # Text never makes a control token.
        return triggered({special_token(token): ""}, again=False) if may_call else any_text()
    if chat_format.at_start:
        other = ~(trigger + any_text())
        return choice(trigger, other) if may_call else other
    return triggered({trigger: ""}, again=False) if may_call else ~(any_text() + trigger + any_text())
