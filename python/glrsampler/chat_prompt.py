"""Conversations as tokens, by the model's chat template.

Only the template and the host make control tokens. What messages say is put into the template as placeholders, and
each piece is cut into tokens by itself: the host's with special tokens, everybody else's without
(`glrsampler.untrusted`). No token spans the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import Error
from .untrusted import Untrusted

if TYPE_CHECKING:
    import llama_cpp

# Code points of private use, around a number.
_OPEN, _CLOSE = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a message. Trusted: written by this library, and its special tokens are meant."""

    text: str
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """What one side says; the role is the template's word for who it is."""

    role: str
    pieces: tuple[Piece, ...]


class ChatPrompt:
    """Writes the prompts of one model. Error when it has no chat template."""

    def __init__(self, llm: llama_cpp.Llama, untrusted: Untrusted | None = None) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        template = llm.metadata.get("tokenizer.chat_template")
        if template is None:
            raise Error("the model has no chat template")
        if _OPEN in template or _CLOSE in template:
            raise Error("the chat template holds code points of private use that stand for messages here")
        self.template: str = template
        self.untrusted = Untrusted.of(llm) if untrusted is None else untrusted
        self._llm = llm

        def text_of(token: int) -> str:
            return str(llm._model.token_get_text(token)) if token >= 0 else ""

        self._formatter = Jinja2ChatFormatter(
            template, eos_token=text_of(llm.token_eos()), bos_token=text_of(llm.token_bos())
        )

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """The conversation, and the beginning of the assistant's turn.

        Error for a template that refuses the conversation or leaves a message out.
        """
        shown = [{"role": message.role, "content": f"{_OPEN}{index}{_CLOSE}"} for index, message in enumerate(messages)]
        try:
            text = self._formatter(messages=shown).prompt
        except ValueError as error:
            raise Error(f"the chat template refuses the conversation: {error}") from None
        parts = _PLACEHOLDER.split(text)
        if sorted(map(int, parts[1::2])) != list(range(len(messages))):
            raise Error("the chat template does not show every message once")
        tokens: list[int] = []
        for at, part in enumerate(parts):
            if at % 2 == 0:
                tokens += self.host_tokens(part)
            else:
                for piece in messages[int(part)].pieces:
                    tokens += self.piece_tokens(piece)
        return tokens

    def piece_tokens(self, piece: Piece) -> list[int]:
        """The tokens of a part of a message."""
        if piece.trusted:
            return self.host_tokens(piece.text)
        return self.untrusted.tokens(self.untrusted.neutralise(piece.text)[0])

    def host_tokens(self, text: str) -> list[int]:
        """The tokens of the host's own text, special ones too."""
        if not text:
            return []
        tokens: list[int] = self._llm.tokenize(text.encode(), add_bos=False, special=True)
        return tokens
