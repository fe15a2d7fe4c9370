"""Tools in processes of their own: what hangs, dies or floods is ended and recorded, and leaves nothing behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import glrsampler as glr
import pytest
from declared_tools import apart, text_of
from glrsampler.reasons import Reason
from glrsampler.tools import Broker, Manifest, Outcome, tool


@pytest.fixture(scope="module")
def call() -> Callable[[str], Outcome]:
    broker = Broker(Manifest([apart]), automatic=["apart"])
    return lambda how: broker.execute(text_of(apart, {"how": how}), broker.issue())


def alive(pid: int) -> bool:
    """A zombie that nobody waits for is not alive."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> bool:
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_it_runs_in_another_process(call: Callable[[str], Outcome]) -> None:
    outcome = call("tell")
    assert outcome.reason is Reason.EXECUTED, outcome.error
    assert outcome.result["how"] == "tell"
    assert outcome.result["pid"] != os.getpid()


@pytest.mark.parametrize(
    ("how", "reason", "message"),
    [
        ("hang", Reason.TOOL_TIMEOUT, "1 seconds"),
        ("spin", Reason.TOOL_TIMEOUT, "1 seconds"),
        ("half a message", Reason.TOOL_TIMEOUT, "1 seconds"),
        ("exit", Reason.TOOL_CRASHED, "without a result"),
        ("abort", Reason.TOOL_CRASHED, "without a result"),
        ("raise", Reason.TOOL_FAILED, "ValueError: no such thing"),
        ("large", Reason.RESULT_TOO_LARGE, "100 are allowed"),
    ],
)
def test_what_goes_wrong_is_a_record(how: str, reason: Reason, message: str, call: Callable[[str], Outcome]) -> None:
    outcome = call(how)
    assert outcome.reason is reason
    assert message in outcome.error
    assert outcome.result is None
    if reason is Reason.TOOL_TIMEOUT:
        assert outcome.evidence["tool_ms"] >= 1000


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc to see other processes")
def test_what_a_tool_starts_ends_with_it(call: Callable[[str], Outcome]) -> None:
    outcome = call("child")
    assert outcome.executed
    assert wait_until(lambda: not alive(outcome.result))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc to see other processes")
def test_what_a_tool_that_hangs_started_ends_with_it(
    call: Callable[[str], Outcome], capfd: pytest.CaptureFixture[str]
) -> None:
    assert call("hang with child").reason is Reason.TOOL_TIMEOUT
    child = int(capfd.readouterr().err.split("child ")[1].split()[0])
    assert wait_until(lambda: not alive(child))


def test_what_a_tool_prints_is_not_standard_output(
    call: Callable[[str], Outcome], capfd: pytest.CaptureFixture[str]
) -> None:
    assert call("print").executed
    out, err = capfd.readouterr()
    assert out == ""
    assert "printed by the tool" in err


def test_calls_at_once(call: Callable[[str], Outcome]) -> None:
    outcomes: list[Outcome] = []
    threads = [threading.Thread(target=lambda how=how: outcomes.append(call(how))) for how in ("hang", "tell")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {outcome.reason for outcome in outcomes} == {Reason.TOOL_TIMEOUT, Reason.EXECUTED}


def test_a_tool_that_its_process_could_not_find_is_refused() -> None:
    def local(value: int) -> int:
        """Doubles."""
        return 2 * value

    declared = tool(version="1", capability="read")(local)
    with pytest.raises(glr.ToolError, match="top level"):
        Manifest([declared])
    renamed = tool(version="1", capability="read")(apart.function)
    with pytest.raises(glr.ToolError, match="top level"):
        Manifest([renamed])
    Manifest([tool(version="1", capability="read", isolated=False)(local)])


def test_a_process_that_does_not_start_is_a_record(
    call: Callable[[str], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> None:
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", fail)
    outcome = call("tell")
    assert outcome.reason is Reason.TOOL_CRASHED
    assert "no more processes" in outcome.error
