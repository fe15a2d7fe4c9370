"""The broker: who is asked, what is shown, what runs, and how often."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from typing import Any

import glrsampler as glr
import pytest
from declared_tools import lookup, search, text_of, transfer
from glrsampler.reasons import Reason
from glrsampler.tools import Broker, Envelope, Manifest, Outcome, canonical

TRANSFER = text_of(transfer, {"account": "NO12 secret", "amount": 7})
LOOKUP = text_of(lookup, {"city": "Oslo", "days": 3})


def test_a_writing_call_asks_each_time_and_shows_all_of_it(broker: Callable[..., Broker], ran: list[Any]) -> None:
    seen: list[Envelope] = []
    made = broker(lambda envelope: not seen.append(envelope))
    for expected in (1, 2):
        request = made.issue()
        outcome = made.execute(TRANSFER, request)
        assert (outcome.reason, outcome.result) == (Reason.EXECUTED, "sent 7")
        assert len(seen) == len(ran) == expected
        shown = json.loads(seen[-1].text())
        assert shown == {
            "tool": "transfer", "version": "1", "schema": transfer.schema_hash, "request": request, "session": "s",
            "arguments": {"account": "NO12 secret", "amount": 7}, "authorisation": "pending",
        }  # fmt: skip
        assert canonical(shown).decode() == seen[-1].text()
        assert outcome.envelope is not None
        assert outcome.envelope.authorisation == "confirmed"
        assert outcome.evidence["authorisation"] == "confirmed"


def test_what_was_shown_is_what_runs(broker: Callable[..., Broker], ran: list[Any]) -> None:
    """A callback that changes what it was given changes a copy."""

    def change(envelope: Envelope) -> bool:
        envelope.call.arguments["amount"] = 100
        with pytest.raises(AttributeError):
            envelope.call.arguments_text = "{}"  # type: ignore[misc] # that it cannot be done is what is tested
        return True

    made = broker(change)
    assert made.execute(TRANSFER, made.issue()).result == "sent 7"
    assert ran[0][1]["amount"] == 7


def test_a_reading_tool_that_is_not_automatic_is_asked_about(broker: Callable[..., Broker], ran: list[Any]) -> None:
    asked: list[str] = []
    made = broker(lambda envelope: not asked.append(envelope.call.name))
    assert made.execute(text_of(search, {"query": "x"}), made.issue()).executed
    assert made.execute(LOOKUP, made.issue()).executed
    assert asked == ["search"]


def test_a_writing_tool_cannot_be_automatic(manifest: Manifest) -> None:
    for names in (["transfer"], ["lookup", "transfer"], ["unknown"]):
        with pytest.raises(glr.ToolError) as error:
            Broker(manifest, automatic=names)
        assert error.value.reason is Reason.TOOL_DECLARATION
    for seconds in (0, -1.0, math.nan, math.inf):
        with pytest.raises(glr.ToolError, match=f"confirm_timeout: {seconds} is not above 0"):
            Broker(manifest, confirm_timeout=seconds)
    with pytest.raises(ValueError, match="max_call_bytes: 0 is not at least 1"):
        Broker(manifest, max_call_bytes=0)


def test_the_list_of_automatic_tools_is_copied(manifest: Manifest, ran: list[Any]) -> None:
    names = ["lookup"]
    made = Broker(manifest, automatic=names)
    names.append("search")
    names.append("transfer")
    assert made.execute(text_of(search, {"query": "x"}), made.issue()).reason is Reason.CONFIRMATION_MISSING
    assert made.execute(TRANSFER, made.issue()).reason is Reason.CONFIRMATION_MISSING


def test_a_yes_that_comes_too_late_counts_for_nothing(broker: Callable[..., Broker], ran: list[Any]) -> None:
    may_answer, answered = threading.Event(), threading.Event()

    def slow(_: Envelope) -> bool:
        may_answer.wait(60)
        answered.set()
        return True

    made = broker(slow, confirm_timeout=0.05)
    outcome = made.execute(TRANSFER, made.issue())
    assert outcome.reason is Reason.CONFIRMATION_TIMEOUT
    may_answer.set()
    assert answered.wait(60)
    assert ran == []


def test_an_answer_in_time_counts_as_it_does_without_a_limit(broker: Callable[..., Broker], ran: list[Any]) -> None:
    def fail(_: Envelope) -> bool:
        raise SystemExit

    for confirm, reason in (
        (lambda _: True, Reason.EXECUTED),
        (lambda _: False, Reason.NOT_CONFIRMED),
        (fail, Reason.CONFIRMATION_FAILED),
    ):
        made = broker(confirm, confirm_timeout=60.0)
        assert made.execute(TRANSFER, made.issue()).reason is reason
    assert len(ran) == 1


def test_one_request_runs_once_however_many_come_at_once(broker: Callable[..., Broker], ran: list[Any]) -> None:
    """The id is used up before anybody is asked: two calls cannot share a yes."""
    asked: list[Envelope] = []
    both_in = threading.Barrier(8)

    def confirm(envelope: Envelope) -> bool:
        asked.append(envelope)
        return True

    made = broker(confirm)
    request = made.issue()
    outcomes: list[Outcome] = []

    def race() -> None:
        both_in.wait()
        outcomes.append(made.execute(TRANSFER, request))

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ran) == len(asked) == 1
    assert sorted(outcome.reason for outcome in outcomes) == [Reason.EXECUTED] + [Reason.REPLAYED_REQUEST] * 7


def test_requests(broker: Callable[..., Broker], ran: list[Any]) -> None:
    made, other = broker(), broker()
    ids = {made.issue() for _ in range(100)}
    assert len(ids) == 100
    assert made.execute(LOOKUP, other.issue()).reason is Reason.UNKNOWN_REQUEST
    assert made.execute(LOOKUP, "").reason is Reason.UNKNOWN_REQUEST
    text = "the prompt's own words"
    outcome = made.execute(LOOKUP, text)
    assert text not in json.dumps(outcome.evidence)
    assert ran == []
    request = ids.pop()
    assert made.execute(LOOKUP, request).executed
    assert made.execute(LOOKUP, request).reason is Reason.REPLAYED_REQUEST
    assert len(ran) == 1


@pytest.mark.parametrize("text", [None, 3, [LOOKUP], bytearray(LOOKUP.encode()), {"name": "lookup"}])
def test_a_call_that_is_no_text(broker: Callable[..., Broker], ran: list[Any], text: Any) -> None:
    made = broker()
    request = made.issue()
    outcome = made.execute(text, request)
    assert outcome.reason is Reason.CALL_MALFORMED
    assert type(text).__name__ in outcome.error
    assert made.execute(LOOKUP, request).reason is Reason.REPLAYED_REQUEST
    assert ran == []


@pytest.mark.parametrize("request_id", [None, 3, ["a"], {}, b"x", ""])
def test_a_request_that_is_none(broker: Callable[..., Broker], ran: list[Any], request_id: Any) -> None:
    outcome = broker().execute(LOOKUP, request_id)
    assert (outcome.reason, outcome.request, outcome.evidence["request"]) == (Reason.UNKNOWN_REQUEST, "", "")
    assert ran == []


def test_a_request_of_one_tool_is_good_for_that_tool(broker: Callable[..., Broker], ran: list[Any]) -> None:
    made = broker(lambda _: True)
    assert made.execute(LOOKUP, made.issue(["transfer"])).reason is Reason.TOOL_NOT_ALLOWED
    assert made.execute(LOOKUP, made.issue(["lookup", "no such tool"])).executed


def test_evidence_holds_no_arguments_and_no_results(broker: Callable[..., Broker], ran: list[Any]) -> None:
    made = broker(lambda _: True)
    outcome = made.execute(TRANSFER, made.issue())
    record = json.dumps(outcome.evidence)
    assert "secret" not in record
    assert "sent" not in record
    assert outcome.evidence | {"request": "", "tool_ms": 0.0} == {
        "request": "", "tool": "transfer", "version": "1", "schema": transfer.schema_hash, "capability": "write",
        "manifest": made.manifest.hash, "session": "s", "authorisation": "confirmed", "reason": "executed",
        "code": 300, "result_bytes": len('"sent 7"'), "tool_ms": 0.0,
    }  # fmt: skip


def test_white_space_and_order_of_keys_do_not_matter(broker: Callable[..., Broker], ran: list[Any]) -> None:
    made = broker()
    fields = json.loads(LOOKUP)
    text = json.dumps(dict(reversed(fields.items())), indent=3)
    assert made.execute(text.encode(), made.issue()).executed
    assert ran == [("lookup", {"city": "Oslo", "days": 3})]


def test_an_interrupt_is_not_swallowed(broker: Callable[..., Broker], ran: list[Any]) -> None:
    def interrupt(_: Envelope) -> bool:
        raise KeyboardInterrupt

    made = broker(interrupt)
    request = made.issue()
    with pytest.raises(KeyboardInterrupt):
        made.execute(TRANSFER, request)
    assert made.execute(TRANSFER, request).reason is Reason.REPLAYED_REQUEST
    assert ran == []
