"""Text that nobody vouches for, on its way into a prompt: it stays text.

Two things keep it so. Names of special tokens and of markers are broken up by a space (`<|im_end|>` becomes
`< |im_end|>`), so that no token stands for them, and a model that was taught them as text does not see them either. And
the text is cut into tokens apart from everything else, with the tokenizer's parsing of special tokens off, and what
comes out is looked at: a control token among them is an error, and nothing is read.

Switching the parsing off is not enough. User-defined tokens are found all the same, and llama.cpp's SentencePiece
tokenizer joins pieces to whatever token has their text: with pieces "<s" and ">", the text "<s>" is the control token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._core import Vocabulary
from .decoding import Tokenizer, tokenizer_of
from .errors import UntrustedTokenError

if TYPE_CHECKING:
    import llama_cpp

#: What chat templates and tool formats are built from, whether a vocabulary has tokens for them or not.
MARKERS: Final = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
    "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>", "<|system|>", "<|user|>", "<|assistant|>",
    "<|end|>", "<|channel|>", "<|message|>", "<start_of_turn>", "<end_of_turn>", "<tool_call>", "</tool_call>",
    "<tool_response>", "</tool_response>", "<tools>", "</tools>", "<function=", "</function>", "<think>", "</think>",
    "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[INST]", "[/INST]",
    "<<SYS>>", "<</SYS>>",
)  # fmt: skip

# Around a name they are not a part of it. SentencePiece writes a space as U+2581.
_BLANKS: Final = " \t\r\n\u2581"


class Untrusted:
    """Reads untrusted text for one vocabulary. Immutable; safe for threads when the tokenizer is."""

    def __init__(self, vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
        self.vocabulary = vocabulary
        self._tokenize = tokenizer
        self._control: set[int] = set()
        names = set(MARKERS)
        for token in range(len(vocabulary)):
            name = vocabulary.token_name(token)
            if vocabulary.is_control(token):
                self._control.add(token)
            names.add(name.strip(_BLANKS))
        # By what they are looked up with: how long they are, and how they are written.
        # A user-defined token may be white space or a word; those are text.
        self._names = {_folded(name) for name in names if len(name) > 1 and not name.isalnum()}
        self._lengths = sorted({len(name) for name in self._names}, reverse=True)
        self._firsts = {name[0] for name in self._names}

    @classmethod
    def of(cls, llm: llama_cpp.Llama) -> Untrusted:
        """For a loaded model; its vocabulary is enough (`vocab_only=True`)."""
        return cls(Vocabulary.from_llama(llm), tokenizer_of(llm))

    def neutralise(self, text: str) -> tuple[str, int]:
        """The text without names of special tokens and markers, in any case of letters; and how many there were.

        Doing it twice changes nothing more.
        """
        # It ends: no name begins with a blank, so each round has more blanks behind a first character, and a name has
        # only so many.
        count = 0
        while found := self._find(text):
            count += len(found)
            pieces = []
            at = 0
            for place in found:
                pieces += [text[at : place + 1], " "]
                at = place + 1
            text = "".join(pieces) + text[at:]
        return text, count

    def _find(self, text: str) -> list[int]:
        """Where names begin. Linear in the text: a name is looked up by its length, of which there are few."""
        folded = _folded(text)
        return [
            at
            for at, character in enumerate(folded)
            if character in self._firsts and any(folded[at : at + length] in self._names for length in self._lengths)
        ]

    def tokens(self, text: str) -> list[int]:
        """The tokens of the text as text; UntrustedTokenError when one of them is a control token."""
        tokens = self._tokenize(text.encode("utf-8", "replace"))
        if not self._control.isdisjoint(tokens):
            raise UntrustedTokenError("untrusted text became a control token; it was not read")
        return tokens

    def cut(self, text: str, max_tokens: int) -> tuple[str, bool]:
        """The longest beginning of the text found to have at most `max_tokens` tokens, and whether it is not all."""
        tokens = self.tokens(text)
        if len(tokens) <= max_tokens:
            return text, False
        keep = max_tokens
        while True:
            data = b"".join(map(self.vocabulary.token_bytes, tokens[:keep]))
            # A tokenizer may put a space in front; a cut may stand in the middle of a code point.
            shown = data.decode("utf-8", "ignore")
            shown = shown if text.startswith(shown) else shown.removeprefix(" ")
            if not text.startswith(shown):
                shown = text[: min(len(shown), keep)]
            if keep == 0 or len(self.tokens(shown)) <= max_tokens:
                return shown, True
            # The beginning by itself is cut otherwise than within the whole.
            keep -= 1


def _folded(text: str) -> str:
    """Without a difference of case or of SentencePiece's two spaces, and as long as the text: what would grow stays
    as it is."""
    plain = text.replace("\u2581", " ")
    return "".join(f if len(f := character.casefold()) == 1 else character for character in plain)
