"""The envelope of a call: what the model writes of it, and what only the host does.

The model writes one JSON object, the call: the tool's name, its arguments, its version and the SHA-256 of its schema.
Name, version and hash are constants of the grammar; once the name is told apart from the others, all but the
arguments is forced. The host adds the request's id, the state of the session and how the call was authorised: fields
that the grammar does not let the model write, and that the broker refuses in a call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..reasons import Reason
from . import strict_json
from .canonical import canonical
from .refusal import Refusal

#: Fields of the envelope that a call may never hold.
HOST_FIELDS: Final = ("request", "session", "authorisation")

#: "pending" is what a person sees who is asked; "none" is a call that was refused.
Authorisation = Literal["none", "pending", "automatic", "confirmed"]


@dataclass(frozen=True, slots=True)
class CallKeys:
    """What a chat format calls the name and the arguments. A name of "" stands outside of the JSON object."""

    name: str = "name"
    arguments: str = "arguments"


DEFAULT_KEYS: Final = CallKeys()


@dataclass(frozen=True, slots=True)
class Call:
    """What the model wrote. `arguments_text` is the text of the arguments object."""

    name: str
    version: str
    schema_hash: str
    arguments_text: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments; a fresh copy."""
        value: dict[str, Any] = json.loads(self.arguments_text)
        return value


@dataclass(frozen=True, slots=True)
class Envelope:
    """A whole call. Immutable: what was confirmed is what is executed."""

    call: Call
    #: Drawn by the host for this one call.
    request: str
    #: What the session is composed of: SHA-256 over model, vocabulary, manifest and chat format.
    session: str
    authorisation: Authorisation

    def text(self) -> str:
        """The envelope as canonical JSON."""
        return canonical(
            {
                "tool": self.call.name,
                "version": self.call.version,
                "schema": self.call.schema_hash,
                "request": self.request,
                "arguments": self.call.arguments,
                "session": self.session,
                "authorisation": self.authorisation,
            }
        ).decode()


def call_schema(
    name: str, version: str, schema: Mapping[str, Any], schema_hash: str, keys: CallKeys = DEFAULT_KEYS
) -> dict[str, Any]:
    """The JSON Schema of a call of one tool."""
    # References within the tool's schema are meant from its own root.
    arguments = {"$id": f"tool:{name}", **schema}
    properties: dict[str, Any] = {keys.name: {"const": name}} if keys.name else {}
    properties |= {keys.arguments: arguments, "version": {"const": version}, "schema": {"const": schema_hash}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def write_call(call: Call, keys: CallKeys = DEFAULT_KEYS) -> str:
    """The JSON text of a call as the grammar spells it."""
    head, tail = _around(call.name, call.version, call.schema_hash, keys)
    return head + call.arguments_text + tail


def read_call(text: str, keys: CallKeys = DEFAULT_KEYS, name: str = "") -> Call:
    """The call that is the whole of `text`, in any order of keys and any white space.

    `name`: where it stands outside of the JSON object. Refusal with CALL_MALFORMED or CALL_FIELDS.
    """
    try:
        value = strict_json.parse(text)
    except (ValueError, RecursionError) as error:
        reason = "it is not JSON" if isinstance(error, json.JSONDecodeError) else str(error)
        raise Refusal(Reason.CALL_MALFORMED, f"the text of the call cannot be read: {reason}") from None
    if not isinstance(value, dict):
        raise Refusal(Reason.CALL_MALFORMED, "a call is a JSON object")
    expected = {*([keys.name] if keys.name else []), keys.arguments, "version", "schema"}
    if filled := sorted(value.keys() & set(HOST_FIELDS)):
        raise Refusal(Reason.CALL_FIELDS, f"the host alone fills {', '.join(filled)}")
    if value.keys() != expected:
        raise Refusal(Reason.CALL_FIELDS, f"a call has the fields {', '.join(sorted(expected))}, and no others")
    named = value[keys.name] if keys.name else name
    arguments = value[keys.arguments]
    texts = (named, value["version"], value["schema"])
    if not isinstance(arguments, dict) or not all(isinstance(field, str) for field in texts):
        raise Refusal(Reason.CALL_FIELDS, "arguments are a JSON object; name, version and schema are strings")
    call = Call(*texts, json.dumps(arguments, ensure_ascii=False, separators=(",", ":")))
    head, tail = _around(*texts, keys)
    # The model's own spelling of the arguments is kept, so that the next prompt begins with what it wrote.
    if text.startswith(head) and text.endswith(tail) and len(text) > len(head) + len(tail):
        own = text[len(head) : -len(tail)]
        if _parses_to(own, arguments):
            return Call(*texts, own)
    return call


def _parses_to(text: str, value: Any) -> bool:
    try:
        return bool(strict_json.parse(text) == value)
    except ValueError:
        return False


def _around(name: str, version: str, schema_hash: str, keys: CallKeys) -> tuple[str, str]:
    def spelled(value: str) -> str:
        return json.dumps(value, ensure_ascii=False)

    head = f"{{{spelled(keys.name)}:{spelled(name)}," if keys.name else "{"
    return (
        f"{head}{spelled(keys.arguments)}:",
        f',"version":{spelled(version)},"schema":{spelled(schema_hash)}}}',
    )
