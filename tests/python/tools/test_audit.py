"""Nothing but the declared functions is executed: what the interpreter itself reports while calls are handled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from adversarial_calls import CASES
from declared_tools import lookup, misbehave, text_of, transfer
from glrsampler.tools import Broker, Manifest, calculator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

#: Events that running, loading, fetching or changing anything would raise.
FORBIDDEN = (
    "exec", "compile", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "urllib.", "http.",
    "ftplib.", "smtplib.", "pty.", "fcntl.", "signal.", "pickle.find_class", "marshal.", "code.__new__",
    "function.__new__", "builtins.input", "webbrowser.", "tempfile.", "glob.", "sqlite3.", "mmap.", "syslog.",
)  # fmt: skip


class Recorder:
    """Hooks cannot be removed, so there is one, which listens when asked to."""

    def __init__(self) -> None:
        self.listening = False
        self.events: list[tuple[str, str]] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.listening and event.startswith(FORBIDDEN):
            self.listening = False  # what follows is this function's own
            self.events.append((event, repr(arguments)[:200]))
            self.listening = True


RECORDER = Recorder()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    RECORDER.events.clear()
    yield RECORDER
    RECORDER.listening = False


def heard(recorder: Recorder, act: Callable[[], Any]) -> Any:
    recorder.listening = True
    try:
        return act()
    finally:
        recorder.listening = False


def test_the_recorder_hears(recorder: Recorder) -> None:
    heard(recorder, lambda: eval("1 + 1"))
    assert {event for event, _ in recorder.events} >= {"compile", "exec"}
    recorder.events.clear()
    heard(recorder, lambda: open(__file__).close())
    assert [event for event, _ in recorder.events] == ["open"]


@pytest.fixture
def warm(broker: Callable[..., Broker], ran: list[Any]) -> Broker:
    """One call of each kind before anybody listens: modules are loaded at their first use."""
    made = broker(lambda _: True)
    for text in (text_of(lookup, {"city": "Oslo"}), text_of(lookup, {"city": 1}), text_of(misbehave, {"how": "raise"})):
        made.execute(text, made.issue())
    ran.clear()
    return made


def test_refused_calls_execute_nothing(warm: Broker, recorder: Recorder, ran: list[Any]) -> None:
    for case in CASES:
        if case.confirm is not None or case.reason.code >= 330:
            continue  # the broker here has somebody who says yes
        request = warm.issue(case.allowed)
        outcome = heard(recorder, lambda case=case, request=request: warm.execute(case.text, request, **case.options))
        assert outcome.reason is case.reason
    assert recorder.events == []
    assert ran == []


def test_accepted_calls_execute_the_function_and_nothing_else(warm: Broker, recorder: Recorder, ran: list[Any]) -> None:
    texts = {
        text_of(lookup, {"city": "Oslo"}): ("lookup", {"city": "Oslo", "days": 1}),
        text_of(transfer, {"account": "__import__('os').system('id')", "amount": 1}): (
            "transfer",
            {"account": "__import__('os').system('id')", "amount": 1},
        ),
        text_of(misbehave, {"how": "raise"}): ("misbehave", {"how": "raise"}),
    }
    for text in texts:
        heard(recorder, lambda text=text: warm.execute(text, warm.issue()))
    assert ran == list(texts.values())
    # Ids come from the operating system's random numbers, which no event tells of.
    assert recorder.events == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | st.binary() | st.sampled_from([case.text for case in CASES]))
def test_whatever_comes_only_declared_functions_run(
    warm: Broker, recorder: Recorder, ran: list[Any], text: str | bytes
) -> None:
    outcome = heard(recorder, lambda: warm.execute(text, warm.issue()))
    assert recorder.events == []
    assert outcome.executed == bool(ran)
    ran.clear()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | st.sampled_from(["__import__('os').system('id')", "1 if 1 else 2", "(lambda: 1)()", "1;2"]))
def test_the_calculator_evaluates_and_executes_nothing(recorder: Recorder, expression: str) -> None:
    record = heard(recorder, lambda: calculator(expression))
    assert recorder.events == []
    assert record["expression"] == expression


def test_the_calculators_calls_execute_nothing(recorder: Recorder) -> None:
    made = Broker(Manifest([calculator]), automatic=["calculator"])
    text = text_of(calculator, {"expression": "sqrt(2)^2 / (1 - 1)"})
    made.execute(text, made.issue())
    outcome = heard(recorder, lambda: made.execute(text, made.issue()))
    assert outcome.result["error"] == "division by zero"
    assert recorder.events == []
