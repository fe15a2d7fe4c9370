"""A contender in a process of its own: its memory can be told apart, and what hangs or dies is replaced.

The scenario holds one Worker a contender and lets them take turns. Times are those of one call into the engine
through its Python interface; reading the answer is not timed. The garbage collector is off while times are taken.
"""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from . import contenders, vocabularies
from .figures import peak_bytes, resident_bytes


class Failed(Exception):
    """The contender cannot do it: not installed, grammar refused, out of time, dead."""


@dataclass
class Compiled:
    compile_ns: int
    first_mask_ns: int  # compile and first mask together
    form: str  # the format the grammar was given in


@dataclass
class Pass:
    """One run over the texts of a case, in nanoseconds, one entry for each token taken."""

    masks: list[int] = field(default_factory=list)
    commits: list[int] = field(default_factory=list)
    accepted: list[bool] = field(default_factory=list)  # by text
    complete: bool = True  # False: time was up

    @property
    def both(self) -> list[int]:
        return [mask + commit for mask, commit in zip(self.masks, self.commits, strict=True)]


class Worker:
    """The scenario's side. Every call may raise Failed; after time is up the process is a new one."""

    def __init__(self, name: str, vocabulary: str, *, seconds: float, core: int | None = None) -> None:
        self.name = name
        self._arguments = (name, vocabulary, core)
        self._seconds = seconds
        self._process: Any = None
        self._connection: Connection | None = None
        self._start()

    def compile(self, grammars: dict[str, str], *, fresh: bool) -> Compiled:
        """`grammars`: format -> text. `fresh`: nothing kept from earlier grammars."""
        result: Compiled = self._ask("compile", grammars, fresh)
        return result

    def run(self, texts: list[list[int]]) -> Pass:
        """Mask and commit, token by token, each text from the start."""
        result: Pass = self._ask("run", texts, self._seconds)
        return result

    def answers(self, texts: list[list[int]]) -> list[str]:
        """A digest of every mask of `run` and of whether the text is complete there; nothing is timed."""
        result: list[str] = self._ask("answers", texts, self._seconds)
        return result

    def verdicts(self, texts: list[list[int]]) -> list[tuple[bool, int]]:
        """Whether each text is a sentence, and how many of its tokens were taken; no masks are asked for, and the
        list is shorter when time was up."""
        result: list[tuple[bool, int]] = self._ask("verdicts", texts, self._seconds)
        return result

    def size(self) -> int | None:
        """Bytes of the constraint as the engine counts them."""
        result: int | None = self._ask("size")
        return result

    def memory(self) -> tuple[int, int]:
        """Bytes resident and at most resident."""
        result: tuple[int, int] = self._ask("memory")
        return result

    def close(self) -> None:
        if self._connection is not None and self._process.is_alive():
            self._connection.send(None)
            self._process.join(5)
        self._kill()

    def _ask(self, *message: Any) -> Any:
        if self._connection is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send(message)
            # A run looks at the clock between masks; twice its time means that one mask or a compile hangs.
            if not self._connection.poll(2 * self._seconds + 10):
                self._kill()
                raise Failed("out of time")
            answer = self._connection.recv()
        except (EOFError, OSError) as error:
            self._process.join(5)
            status = self._process.exitcode
            self._kill()
            raise Failed(f"died with status {status}") from error
        if isinstance(answer, Failed):
            raise answer
        return answer

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()
        try:
            answer = self._connection.recv() if self._connection.poll(300) else Failed("did not start in 300 s")
        except EOFError:
            answer = Failed("died while starting")
        if isinstance(answer, Failed):
            self._kill()
            raise answer

    def _kill(self) -> None:
        self._process.kill()
        self._process.join()
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class _State:
    """What a worker holds between requests."""

    def __init__(self, name: str, vocabulary: str) -> None:
        tokens = vocabularies.load(vocabulary)
        self.contender = contenders.make(name, tokens)
        self._ends = list(tokens.ends)
        self.constraint: Any = None

    def compile(self, grammars: dict[str, str], fresh: bool) -> Compiled:
        self.constraint = None
        if fresh:
            self.contender.renew()
        form = next((form for form in self.contender.formats if form in grammars), None)
        if form is None:
            raise Failed("no grammar in a format it reads")
        gc.collect()
        began = time.perf_counter_ns()
        self.constraint = self.contender.compile(form, grammars[form])
        compiled = time.perf_counter_ns()
        sequence = self.contender.start(self.constraint)
        if sequence.prepare:
            sequence.prepare()
        sequence.mask()
        return Compiled(compiled - began, time.perf_counter_ns() - began, form)

    def run(self, texts: list[list[int]], seconds: float) -> Pass:
        result = Pass()
        clock = time.perf_counter_ns
        limit = clock() + int(seconds * 1e9)
        for text in texts:
            sequence = self.contender.start(self.constraint)
            prepare, mask, commit = sequence.prepare, sequence.mask, sequence.commit
            accepted = True
            for token in text:
                if prepare:
                    prepare()
                t0 = clock()
                mask()
                t1 = clock()
                try:
                    t2 = clock()
                    taken = commit(token)
                    t3 = clock()
                except Exception:  # the engines have no error in common
                    accepted = False
                    break
                result.masks.append(t1 - t0)
                result.commits.append(t3 - t2)
                if taken is False:
                    accepted = False
                    break
                if t3 > limit:
                    result.complete = False
                    return result
            result.accepted.append(accepted and sequence.accepting())
        return result

    def answers(self, texts: list[list[int]], seconds: float) -> list[str]:
        result: list[str] = []
        limit = time.perf_counter() + seconds
        for text in texts:
            sequence = self.contender.start(self.constraint)
            for token in text:
                if time.perf_counter() > limit:
                    return result
                if sequence.prepare:
                    sequence.prepare()
                sequence.mask()
                allowed = sequence.allowed().copy()
                # Not every engine has end tokens in its masks; all say when the text is complete.
                allowed[self._ends] = sequence.accepting()
                result.append(hashlib.blake2b(np.packbits(allowed).tobytes(), digest_size=8).hexdigest())
                if not allowed[token]:
                    break
                sequence.commit(token)
        return result

    def verdicts(self, texts: list[list[int]], seconds: float) -> list[tuple[bool, int]]:
        result: list[tuple[bool, int]] = []
        limit = time.perf_counter() + seconds
        for text in texts:
            if time.perf_counter() > limit:
                break
            sequence = self.contender.start(self.constraint)
            taken = 0
            for token in text:
                try:
                    if sequence.commit(token) is False:
                        break
                except Exception:  # the engines have no error in common
                    break
                taken += 1
            result.append((taken == len(text) and sequence.accepting(), taken))
        return result

    def size(self) -> int | None:
        return self.contender.size(self.constraint)

    def memory(self) -> tuple[int, int]:
        gc.collect()
        return resident_bytes(), peak_bytes()


def _serve(connection: Connection, name: str, vocabulary: str, core: int | None) -> None:
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    # Engines write to standard error what they also return.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        state = _State(name, vocabulary)
    except ImportError as error:
        connection.send(Failed(f"not installed: {error}"))
        return
    gc.collect()
    gc.freeze()
    gc.disable()
    connection.send("ready")
    while (message := connection.recv()) is not None:
        request, *arguments = message
        try:
            connection.send(getattr(state, request)(*arguments))
        except Failed as failed:
            connection.send(failed)
        except Exception as error:  # the engines have no error in common
            connection.send(Failed(traceback.format_exception_only(error)[-1].strip()[:300]))


def start_all(
    names: Iterable[str], vocabulary: str, *, seconds: float, core: int | None
) -> tuple[list[Worker], dict[str, str]]:
    """A worker for each contender that can be had, and why the others cannot."""
    workers: list[Worker] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            workers.append(Worker(name, vocabulary, seconds=seconds, core=core))
        except Failed as failed:
            missing[name] = str(failed)
    return workers, missing
