"""Turns with a scripted model: it writes what the script says, as far as the grammar of each phase allows it."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from typing import Any

import glrsampler as glr
import pytest
from declared_tools import lookup, search, transfer
from glrsampler.generation import Event
from glrsampler.reasons import Reason
from glrsampler.tools import FORMATS, Call, ChatFormat, Envelope, Reply, Session, Tool, turn

EVERY_FORMAT = pytest.mark.parametrize("chat_format", FORMATS.values(), ids=FORMATS)
PARALLEL = [chat_format for chat_format in FORMATS.values() if chat_format.separator]


class Script:
    """Stands for `stream`. Each phase is a text, or a text and the reason for which it ends there."""

    def __init__(self, *phases: str | tuple[str, Reason]) -> None:
        self.phases = list(phases)

    def __call__(
        self, _llm: Any, _prompt: Any, sampler: glr.Sampler, *, stop: list[str], **_options: Any
    ) -> Iterator[Event]:
        phase = self.phases.pop(0)
        text, reason = phase if isinstance(phase, tuple) else (phase, Reason.GRAMMAR_END)
        grammar = sampler.constraint.grammar
        whole = grammar.matches(text)
        assert whole or reason not in (Reason.GRAMMAR_END, Reason.END_TOKEN), (text, grammar.source)
        shown = text
        if stop and text.endswith(stop[0]):
            shown, reason = text.removesuffix(stop[0]), Reason.STOP_STRING
        for character in shown:
            yield Event(character, (0,), False)
        yield Event("", (), whole, status=reason.status, reason=reason, evidence={"grammar": grammar.fingerprint})


def call_text(chat_format: ChatFormat, tool: Tool, arguments: dict[str, Any]) -> str:
    call = Call(tool.name, tool.version, tool.schema_hash, json.dumps(arguments, separators=(",", ":")))
    return chat_format.write(call)


def phases_of(chat_format: ChatFormat, payload: str) -> list[str]:
    """The phases in which a payload is written: the name by itself, where it stands outside of the object."""
    if not chat_format.after_name:
        return [payload]
    name, sign, body = payload.partition(chat_format.after_name)
    return [name + sign, body]


def run(
    llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, chat_format: ChatFormat, phases: list[Any], **options: Any
) -> Reply:
    script = Script(*phases)
    monkeypatch.setattr(turn, "stream", script)
    made = Session(
        llm, [lookup, search, transfer], chat_format=chat_format, **{"automatic": ["lookup", "search"], **options}
    )
    events = list(made.run([{"role": "user", "content": "x"}]))
    assert script.phases == []
    reply = events[-1].reply
    assert reply is not None
    return reply


OSLO, BOOK = {"city": "Oslo"}, {"query": 'a "b" </tool_call> {', "kind": "song"}


@EVERY_FORMAT
def test_text_then_a_call_then_an_answer(
    chat_format: ChatFormat, llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    payload = call_text(chat_format, search, BOOK)
    before = "" if chat_format.at_start else "Let me see. < [ "
    between = [chat_format.end] if chat_format.separator else []
    phases = [before + chat_format.trigger, *phases_of(chat_format, payload), ("Done.", Reason.END_TOKEN)]
    for limit in (1, 2):
        script = [*phases[:-1], *(between if limit > 1 else []), phases[-1]]
        reply = run(llm, monkeypatch, chat_format, script, max_calls=limit)
        assert ran == [("search", BOOK)]
        assert reply.messages[0]["content"] == before
        assert reply.messages[0]["tool_calls"][0]["function"] == {
            "name": "search",
            "arguments": json.dumps(BOOK, separators=(",", ":")),
        }
        assert (reply.text, reply.status, reply.reason) == ("Done.", "complete", Reason.END_TOKEN)
        ran.clear()


@pytest.mark.parametrize("chat_format", PARALLEL, ids=lambda chat_format: chat_format.name)
def test_calls_in_one_turn(
    chat_format: ChatFormat, llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    """Each has a request of its own, and each writing one its own question."""
    payloads = [
        call_text(chat_format, lookup, OSLO),
        call_text(chat_format, transfer, {"account": "a", "amount": 1}),
        call_text(chat_format, transfer, {"account": "b", "amount": 2}),
    ]
    written = [phases_of(chat_format, payload) for payload in payloads]
    asked: list[Envelope] = []

    def only_the_first(envelope: Envelope) -> bool:
        asked.append(envelope)
        return len(asked) == 1

    phases = [
        *written[0], chat_format.separator, *written[1], chat_format.separator, *written[2], ("", Reason.END_TOKEN)
    ]  # fmt: skip
    reply = run(llm, monkeypatch, chat_format, phases, tool_choice="required", max_calls=3, confirm=only_the_first)
    assert [outcome.reason for outcome in reply.outcomes] == [
        Reason.EXECUTED, Reason.EXECUTED, Reason.NOT_CONFIRMED
    ]  # fmt: skip
    assert ran == [("lookup", {"city": "Oslo", "days": 1}), ("transfer", {"account": "a", "amount": 1})]
    assert len({outcome.request for outcome in reply.outcomes}) == 3
    assert [message["role"] for message in reply.messages] == ["assistant", "tool", "tool", "tool", "assistant"]
    for outcome, call, answer in zip(reply.outcomes, reply.messages[0]["tool_calls"], reply.messages[1:4], strict=True):
        assert outcome.request == call["id"] == answer["tool_call_id"]
        assert answer["content"] == outcome.text()


@pytest.mark.parametrize("chat_format", PARALLEL, ids=lambda chat_format: chat_format.name)
@pytest.mark.parametrize("reason", [Reason.MAX_TOKENS, Reason.CANCELLED])
@pytest.mark.parametrize("cut", ["in the payload", "between", "in the second payload"])
def test_of_a_turn_that_is_cut_off_no_call_runs(
    cut: str, reason: Reason, chat_format: ChatFormat, llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    first = phases_of(chat_format, call_text(chat_format, lookup, OSLO))
    phases: list[Any] = {
        "in the payload": [*first[:-1], (first[-1][:-1], reason)],
        "between": [*first, (chat_format.separator[:2], reason)],
        "in the second payload": [*first, chat_format.separator, *first[:-1], (first[-1][:9], reason)],
    }[cut]
    reply = run(llm, monkeypatch, chat_format, phases, tool_choice="required", max_calls=2)
    assert {outcome.reason for outcome in reply.outcomes} == {Reason.CALL_INCOMPLETE}
    assert reply.reason is reason
    assert ran == []
    assert "tool_calls" not in reply.messages[0]


@EVERY_FORMAT
def test_text_without_a_call(chat_format: ChatFormat, llm: glr.Llama, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"No {chat_format.trigger[:-1]} here"
    reply = run(llm, monkeypatch, chat_format, [(text, Reason.END_TOKEN)])
    assert (reply.text, reply.outcomes, reply.status) == (text, (), "complete")
    reply = run(llm, monkeypatch, chat_format, [(text[:4], Reason.MAX_TOKENS)])
    assert (reply.text, reply.outcomes, reply.status) == (text[:4], (), "length")


@EVERY_FORMAT
def test_the_turn_after_the_last_step_has_no_tools(
    chat_format: ChatFormat, llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    payload = phases_of(chat_format, call_text(chat_format, lookup, OSLO))
    phases = [*payload, chat_format.trigger, *payload, ("Enough.", Reason.END_TOKEN)]
    reply = run(llm, monkeypatch, chat_format, phases, tool_choice="required", max_steps=2)
    assert len(ran) == 2
    assert reply.text == "Enough."


def test_one_tool_is_the_only_one_that_can_be_written(
    llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    hermes = FORMATS["hermes"]
    with pytest.raises(AssertionError):
        run(llm, monkeypatch, hermes, [call_text(hermes, lookup, OSLO)], tool_choice="search")
    assert ran == []


def test_a_call_that_is_too_large_ends_the_reply(
    llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    hermes = FORMATS["hermes"]
    phases = [call_text(hermes, search, {"query": "x" * 900})]
    reply = run(llm, monkeypatch, hermes, phases, tool_choice="required", max_call_bytes=800)
    assert [outcome.reason for outcome in reply.outcomes] == [Reason.CALL_TOO_LARGE]
    assert reply.messages == ({"role": "assistant", "content": ""},)
    assert ran == []


@EVERY_FORMAT
def test_whoever_stops_listening_has_cancelled(
    chat_format: ChatFormat, llm: glr.Llama, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    """A call runs only when whoever reads the stream asks for what comes after its last character."""
    payload = call_text(chat_format, lookup, OSLO)
    for characters in (1, len(payload)):
        monkeypatch.setattr(turn, "stream", Script(*phases_of(chat_format, payload)))
        made = Session(llm, [lookup], chat_format=chat_format, automatic=["lookup"], tool_choice="required")
        events = made.run([{"role": "user", "content": "x"}])
        text = "".join(next(events).text for _ in range(characters))
        assert payload.startswith(text)
        assert isinstance(events, Generator)
        events.close()
    assert ran == []
