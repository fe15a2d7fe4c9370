"""How the chat templates that people use put a call into an assistant's turn.

A turn is free text, and from a trigger on calls. The markers around a call are the host's: the model writes the
trigger, which says that it wants to call, and then the payload; it cannot write a marker inside of either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..errors import ToolError
from ..reasons import Reason
from .envelope import DEFAULT_KEYS, Call, CallKeys, read_call, write_call
from .refusal import Refusal


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """One way to write calls. ToolError for one that contradicts itself."""

    name: str
    #: Free text ends where it is complete, and never holds it otherwise.
    trigger: str
    #: Before the first payload, from the trigger on; between two; after the last. No separator: one call in a turn.
    begin: str
    separator: str
    end: str
    keys: CallKeys = DEFAULT_KEYS
    #: The trigger counts as the first character of a turn alone, and is the payload's own.
    at_start: bool = False
    #: Between the name, which then comes first, and the JSON object.
    after_name: str = ""
    #: The role under which the template shows results.
    result_role: str = "tool"

    def __post_init__(self) -> None:
        if not self.trigger:
            raise ToolError(f"chat format {self.name}: the trigger is empty")
        if self.at_start and (len(self.trigger) > 1 or self.begin or self.after_name):
            raise ToolError(f"chat format {self.name}: a trigger at the start is the payload's first character")
        if not self.at_start and not self.begin.startswith(self.trigger):
            raise ToolError(f"chat format {self.name}: a call begins with the trigger")
        if bool(self.after_name) == bool(self.keys.name):
            raise ToolError(f"chat format {self.name}: the name stands either in the object or before it")

    def write(self, call: Call) -> str:
        """The payload of a call."""
        head = call.name + self.after_name if self.after_name else ""
        return head + write_call(call, self.keys)

    def read(self, payload: str) -> Call:
        """The call that is the whole payload; Refusal when it is none."""
        if not self.after_name:
            return read_call(payload, self.keys)
        name, found, rest = payload.partition(self.after_name)
        if not found:
            raise Refusal(Reason.CALL_MALFORMED, f"the name of a call ends with {self.after_name}")
        return read_call(rest, self.keys, name)


HERMES: Final = ChatFormat(
    "hermes", "<tool_call>", "<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"
)  # fmt: skip
LLAMA: Final = ChatFormat(
    "llama", "{", "", "", "", CallKeys("name", "parameters"), at_start=True, result_role="ipython"
)  # fmt: skip
MISTRAL: Final = ChatFormat("mistral", "[TOOL_CALLS]", "[TOOL_CALLS][", ", ", "]", result_role="user")
FUNCTIONARY: Final = ChatFormat(
    "functionary", "<function=", "<function=", "</function>\n<function=", "</function>",
    CallKeys("", "arguments"), after_name=">",
)  # fmt: skip
JSON: Final = ChatFormat("json", "{", "", "", "", at_start=True, result_role="user")

FORMATS: Final = {chat_format.name: chat_format for chat_format in (HERMES, LLAMA, MISTRAL, FUNCTIONARY, JSON)}

# What a chat template holds that was written for a format, the most telling first.
_SIGNS: Final = (
    ("<tool_call>", HERMES), ("[TOOL_CALLS]", MISTRAL), ("<function=", FUNCTIONARY), ("<|python_tag|>", LLAMA),
    ('"parameters"', LLAMA),
)  # fmt: skip


def format_named(name: str) -> ChatFormat:
    """The format of this name; ToolError when there is none."""
    try:
        return FORMATS[name]
    except KeyError:
        raise ToolError(f"no chat format {name!r}; there are {', '.join(FORMATS)}") from None


def format_of(template: str) -> ChatFormat:
    """The format that a chat template was written for; hermes where it knows no calls."""
    return next((chat_format for sign, chat_format in _SIGNS if sign in template), HERMES)
