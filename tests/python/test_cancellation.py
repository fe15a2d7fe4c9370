"""Stopping a generation: between tokens, and while llama.cpp computes a batch."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from typing import Any

import glrsampler as glr
import llama_cpp
import pytest

PROMPT = "A number: "
LONG_PROMPT = "All work and no play makes Jack a dull boy. " * 30  # one batch, of seconds
DIGITS = 'root ::= [0-9]{4} " it is."'  # nothing is forced before the model is asked


@pytest.fixture(scope="module")
def digits(vocabulary: glr.Vocabulary) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(DIGITS).compile(vocabulary), seed=3)


class Answers:
    """No, until it was asked often enough."""

    def __init__(self, llm: glr.Llama, yes_at: int, act: Callable[[], object] = lambda: True) -> None:
        self.llm, self.yes_at, self.act = llm, yes_at, act
        self.asked = 0
        self.read: list[int] = []  # how many tokens the model had read when it was asked

    def __call__(self) -> bool:
        self.asked += 1
        self.read.append(self.llm.n_tokens)
        return bool(self.act()) if self.asked >= self.yes_at else False


@pytest.mark.parametrize("yes_at", [2, 3, 6])
def test_inside_a_batch_of_the_prompt(llm: glr.Llama, digits: glr.Sampler, yes_at: int) -> None:
    llm.reset()
    answers = Answers(llm, yes_at)
    result = glr.generate(llm, LONG_PROMPT, digits, cancel=answers)
    assert (result.status, result.reason, result.text, result.tokens) == ("cancelled", "cancelled", "", ())
    assert answers.asked == yes_at
    assert answers.read == [0] * yes_at, "all the questions came before the first batch was read"
    assert llm.n_tokens == 0
    assert result.evidence["model_ms"] > 0


def test_what_was_read_before_stands_and_the_next_run_is_right(llm: glr.Llama, digits: glr.Sampler) -> None:
    llm.reset()
    alone = glr.generate(llm, PROMPT + LONG_PROMPT, digits)
    llm.reset()
    glr.generate(llm, PROMPT, digits, max_tokens=1)
    read = llm.n_tokens
    assert glr.generate(llm, PROMPT + LONG_PROMPT, digits, cancel=Answers(llm, 3)).status == "cancelled"
    assert 0 < llm.n_tokens <= read
    assert glr.generate(llm, PROMPT, digits).status == "complete"
    again = glr.generate(llm, PROMPT + LONG_PROMPT, digits)
    assert (again.text, again.status) == (alone.text, "complete")


def test_from_another_thread(llm: glr.Llama, digits: glr.Sampler) -> None:
    llm.reset()
    event = threading.Event()
    asked = threading.Event()

    class Watched:
        """Lets the other thread wait until the batch is under way."""

        times = 0

        def is_set(self) -> bool:
            self.times += 1
            if self.times == 2:
                asked.set()
            return event.is_set()

    def cancel() -> None:
        asked.wait(60)
        event.set()

    other = threading.Thread(target=cancel)
    other.start()
    result = glr.generate(llm, LONG_PROMPT, digits, cancel=Watched())
    other.join()
    assert (result.status, result.text, llm.n_tokens) == ("cancelled", "", 0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError("no answer"), ValueError("no answer")])
@pytest.mark.parametrize("yes_at", [1, 2])
def test_what_the_callable_raises_comes_out(llm: glr.Llama, digits: glr.Sampler, yes_at: int, error: Any) -> None:
    """At the first question, between tokens, as well as at the second, from inside the batch."""

    def fail() -> None:
        raise error

    llm.reset()
    with pytest.raises(error if isinstance(error, type) else type(error)) as raised:
        glr.generate(llm, LONG_PROMPT, digits, cancel=Answers(llm, yes_at, fail))
    assert raised.value.__context__ is None
    assert llm.n_tokens == 0
    assert glr.generate(llm, PROMPT, digits).status == "complete"


def test_a_signal_is_heard_inside_a_batch(llm: glr.Llama, digits: glr.Sampler) -> None:
    """Ctrl-C: the signal comes while the batch is computed, and the next question is where Python looks at it."""
    asked = threading.Event()

    def interrupt() -> None:
        asked.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    llm.reset()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            glr.generate(llm, LONG_PROMPT, digits, cancel=Answers(llm, 2, asked.set))
        other.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert llm.n_tokens == 0
    assert glr.generate(llm, PROMPT, digits).status == "complete"


def test_an_answer_that_is_no_bool(llm: glr.Llama, digits: glr.Sampler) -> None:
    answers = iter(["", "yes"])
    llm.reset()
    result = glr.generate(llm, LONG_PROMPT, digits, cancel=lambda: next(answers))  # type: ignore[arg-type, return-value]  # truth values are taken
    assert (result.status, llm.n_tokens) == ("cancelled", 0)


def test_the_callback_that_the_model_was_made_with_is_asked_too_and_comes_back(
    llm: glr.Llama, digits: glr.Sampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[None] = []

    @llama_cpp.ggml_abort_callback
    def own(data: int | None) -> bool:
        calls.append(None)
        return False

    parameters = llama_cpp.llama_context_default_params()
    parameters.abort_callback = own
    monkeypatch.setattr(llm, "context_params", parameters)
    llama_cpp.llama_set_abort_callback(llm._ctx.ctx, own, None)
    try:
        llm.reset()
        assert glr.generate(llm, PROMPT, digits, cancel=lambda: False).status == "complete"
        assert len(calls) > 100, "asked between the nodes of the graph"
        calls.clear()
        llm.eval([1])
        assert calls, "and afterwards, when nothing of ours is there"
    finally:
        llama_cpp.llama_set_abort_callback(llm._ctx.ctx, ctypes.cast(None, llama_cpp.ggml_abort_callback), None)


def test_a_batch_that_the_models_own_callback_ends_is_the_models_failure(
    llm: glr.Llama, digits: glr.Sampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    @llama_cpp.ggml_abort_callback
    def own(data: int | None) -> bool:
        return True

    parameters = llama_cpp.llama_context_default_params()
    parameters.abort_callback = own
    llm.reset()
    with monkeypatch.context() as patch:
        patch.setattr(llm, "context_params", parameters)
        result = glr.generate(llm, PROMPT, digits)
    llama_cpp.llama_set_abort_callback(llm._ctx.ctx, ctypes.cast(None, llama_cpp.ggml_abort_callback), None)
    assert (result.status, result.reason) == ("error", "model")
    assert glr.generate(llm, PROMPT, digits).status == "complete"


def test_the_model_reads_for_one_at_a_time(llm: glr.Llama, digits: glr.Sampler) -> None:
    """A callable that generates with the model that is computing, and a second thread."""
    llm.reset()
    with pytest.raises(RuntimeError, match="reading for somebody else"):
        glr.generate(llm, LONG_PROMPT, digits, cancel=Answers(llm, 2, lambda: glr.generate(llm, PROMPT, digits)))
    outcomes: list[object] = []

    def generate() -> None:
        try:
            outcomes.append(glr.generate(llm, PROMPT, digits).status)
        except RuntimeError as error:
            outcomes.append(str(error))

    def meanwhile() -> bool:
        other = threading.Thread(target=generate)
        other.start()
        other.join()
        return True

    llm.reset()
    assert glr.generate(llm, LONG_PROMPT, digits, cancel=Answers(llm, 2, meanwhile)).status == "cancelled"
    assert outcomes == ["the model is reading for somebody else: one thread at a time, in turn"]
    assert glr.generate(llm, PROMPT, digits).status == "complete"


def test_a_closed_model(model_path: Any, vocabulary: glr.Vocabulary, digits: glr.Sampler) -> None:
    small = glr.Llama(model_path=str(model_path), n_ctx=64, n_threads=1, verbose=False)
    events = glr.stream(small, PROMPT, digits.restarted(1))
    next(events)
    small.close()
    last = list(events)[-1]
    assert (last.status, last.reason) == ("error", "model")
    with pytest.raises(glr.Error, match="closed"):
        glr.generate(small, PROMPT, digits)
