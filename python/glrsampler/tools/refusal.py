"""A call that is not executed, or whose tool gave no result, on its way to the outcome that records it."""

from __future__ import annotations

from ..reasons import Reason


class Refusal(Exception):
    """Why; the message holds nothing of what the model or the tool wrote, except where the reason says so."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        super().__init__(message or reason.meaning)
        self.reason = reason
