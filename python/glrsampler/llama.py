"""`glr.Llama`: a llama_cpp.Llama whose methods take `sampler=`.

Every path of llama_cpp.Llama, chat handlers and streams included, hands on what it is given as `grammar=`
untouched to `generate`. So a sampler travels as a grammar object that knows it, and each generation gets a copy of
its own: generators that run in turn do not meet. Where a draft model guesses ahead, llama_cpp's own loop runs, with
the sampler as a link of its chain.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import llama_cpp
import numpy as np
import numpy.typing as npt

from . import _abi
from ._core import ChainSampler, Grammar, Sampler, Vocabulary
from .decoding import Decoding, cut_back, exclusive
from .errors import Error
from .response_format import response_grammar

if TYPE_CHECKING:
    from llama_cpp.llama_types import (
        CreateChatCompletionResponse,
        CreateChatCompletionStreamResponse,
        CreateCompletionResponse,
        CreateCompletionStreamResponse,
    )

# What a chat handler would overwrite the sampler's grammar for.
_CONFLICTS = ("response_format", "functions", "function_call", "tool_choice")
# The sampling arguments that a sampler for response_format takes over.
_SETTINGS = {
    "temperature": 0.2,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "repeat_penalty": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
}
# Sampling that a Sampler does not do, and `generate`'s own name for the temperature.
_FOREIGN_SETTINGS = ("temp", "typical_p", "tfs_z", "mirostat_mode", "mirostat_tau", "mirostat_eta", "penalize_nl")


class SamplerGrammar(llama_cpp.LlamaGrammar):
    """A sampler in the shape of a grammar. Its text produces nothing useful, should anybody else read it."""

    def __init__(self, sampler: Sampler) -> None:
        super().__init__(_grammar=r'root ::= "\x00"')
        self.sampler = sampler
        self.link: ChainSampler | None = None  # of the generation that this object was made for

    def check(self) -> None:
        """Raises what went wrong inside the chain."""
        if self.link is not None and self.link.status in ("rejected", "failed"):
            raise Error(self.link.message)


class Llama(llama_cpp.Llama):
    """A llama_cpp.Llama whose methods take `sampler=`, a glr.Sampler.

    The sampler does all of the sampling: temperature and its like beside it are a ValueError; `seed`, `logit_bias`,
    `logits_processor`, `stopping_criteria`, `stop`, `max_tokens`, `logprobs`, `stream` and draft models
    work as ever; logprobs are the model's own, before any mask. The sampler itself is not moved: each call works on
    a copy of it, at the start of a text.
    """

    def __call__(self, *args: Any, sampler: Sampler | None = None, **kwargs: Any) -> Any:
        """`llama_cpp.Llama.__call__` under a sampler."""
        return super().__call__(*args, **_with_sampler(sampler, kwargs))

    def create_completion(
        self, *args: Any, sampler: Sampler | None = None, **kwargs: Any
    ) -> CreateCompletionResponse | Iterator[CreateCompletionStreamResponse]:
        """`llama_cpp.Llama.create_completion` under a sampler."""
        return super().create_completion(*args, **_with_sampler(sampler, kwargs))

    def create_chat_completion(
        self, *args: Any, sampler: Sampler | None = None, **kwargs: Any
    ) -> CreateChatCompletionResponse | Iterator[CreateChatCompletionStreamResponse]:
        """`llama_cpp.Llama.create_chat_completion` under a sampler.

        ValueError beside response_format and forced tools: their grammars would replace the sampler's.

        Without a sampler a `response_format` of the types json_object and json_schema is kept by this library: a
        schema that cannot be enforced exactly is a SchemaError, never a silent fall-back to any JSON.
        """
        response_format = kwargs.get("response_format")
        if sampler is None and kwargs.get("grammar") is None and (grammar := response_grammar(response_format)):
            sampler = self._sampler_for(grammar, kwargs)
            kwargs = {name: value for name, value in kwargs.items() if name not in _SETTINGS}
            kwargs["response_format"] = None
        if sampler is not None:
            for name in _CONFLICTS:
                if kwargs.get(name) not in (None, "none", "auto"):
                    raise ValueError(f"sampler and {name} both say what the text may be; give one of them")
        return super().create_chat_completion(*args, **_with_sampler(sampler, kwargs))

    def generate(
        self, tokens: Sequence[int], *args: Any, sampler: Sampler | None = None, **kwargs: Any
    ) -> Generator[int, Sequence[int] | None, None]:
        """`llama_cpp.Llama.generate` under a sampler."""
        kwargs = _with_sampler(sampler, kwargs)
        grammar = kwargs.get("grammar")
        if not isinstance(grammar, SamplerGrammar):
            yield from super().generate(tokens, *args, **kwargs)
        elif self.draft_model is not None or args:
            prompt = np.array(tokens, dtype=np.intc)
            yield from self._in_turn(prompt, super().generate(tokens, *args, **kwargs), grammar)
        else:
            kept = [] if kwargs.get("reset", True) else self._input_ids.tolist()
            yield from self._decode([*kept, *tokens], grammar, kwargs)

    def _decode(
        self, tokens: Sequence[int], grammar: SamplerGrammar, arguments: dict[str, Any]
    ) -> Generator[int, Sequence[int] | None, None]:
        """What llama_cpp's `generate` does, with forced tokens in one batch and without a candidate array."""
        decoding = Decoding(self, grammar.sampler.restarted(), tokens)
        processors = arguments.get("logits_processor")
        criteria = arguments.get("stopping_criteria")
        scores: npt.NDArray[np.float32] | None = None
        waiting: list[int] = []  # accepted, not yielded
        ended = False
        while not ended:
            if not waiting and not decoding.only_end_allowed():
                waiting = decoding.forced()[: decoding.room]
                for token in waiting:
                    decoding.append(token)
                if waiting and self._logits_all:
                    with exclusive(self):
                        decoding.evaluate()  # logprobs look at the rows of all
            if not waiting:
                if decoding.room == 0:
                    return
                token = -1
                if not decoding.only_end_allowed():
                    with exclusive(self):
                        decoding.evaluate()
                        token = decoding.choose() if processors is None else self._choose(decoding, processors)
                        if criteria is not None:
                            scores = decoding.logits().copy()  # looked at when others have read on
                # A dead end, too, can only be told by the end.
                waiting = [token if token >= 0 else (decoding.ends or [self.token_eos()])[0]]
                ended = waiting[0] in decoding.ends or token < 0
                if not ended:
                    decoding.append(waiting[0])
            seen = decoding.length - (0 if ended else len(waiting))
            if criteria is not None and scores is not None and criteria(decoding.read[:seen], scores):
                return
            sent = yield waiting.pop(0)
            if sent:
                decoding.take_back(len(waiting))
                waiting = []
                for token in sent:
                    decoding.append(token)

    def _choose(self, decoding: Decoding, processors: Any) -> int:
        changed = decoding.logits().copy()
        for processor in processors:
            changed = processor(decoding.read, changed)
        return decoding.sampler.sample(changed)

    @functools.cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.from_llama(self)

    def _sampler_for(self, grammar: Grammar, arguments: dict[str, Any]) -> Sampler:
        settings = {name: arguments.get(name, value) for name, value in _SETTINGS.items()}
        return Sampler(grammar.compile(self._vocabulary), seed=arguments.get("seed"), **settings)

    def _init_sampler(self, *args: Any, **kwargs: Any) -> Any:
        grammar = kwargs.get("grammar")
        if not isinstance(grammar, SamplerGrammar):
            return super()._init_sampler(*args, **kwargs)
        # Of llama_cpp's chain only the logits processors stay, which come first.
        chain = super()._init_sampler(temp=0.0, logits_processor=kwargs.get("logits_processor"))
        lib = _abi.llama_cpp()
        for index in reversed(range(len(chain.custom_samplers), lib.llama_sampler_chain_n(chain.sampler))):
            lib.llama_sampler_free(lib.llama_sampler_chain_remove(chain.sampler, index))
        grammar.link = _abi.chain_sampler(grammar.sampler, "full")
        lib.llama_sampler_chain_add(chain.sampler, ctypes.cast(grammar.link.release(), lib.llama_sampler_p_ctypes))
        return chain

    _sampler: Any  # the chain of whoever generates

    def _in_turn(
        self, prompt: npt.NDArray[np.intc], source: Generator[int, Sequence[int] | None, None], grammar: SamplerGrammar
    ) -> Generator[int, Sequence[int] | None, None]:
        """`source`, with its own chain and its own context wherever another generator ran in between."""
        read = prompt[:-1]  # the last token is read alone, as generation.py does and for its reason
        chain: Any = None
        sent: Sequence[int] | None = None
        with contextlib.closing(source):
            while True:
                if chain is not None:
                    self._sampler = chain
                with exclusive(self):
                    shared = cut_back(self, read)
                    if shared < len(read):
                        self.eval(read[shared:].tolist())
                    try:
                        token = source.send(sent)
                    except StopIteration:
                        return
                    grammar.check()
                    chain, read = self._sampler, self._input_ids.copy()
                sent = yield token


def _with_sampler(sampler: Sampler | None, arguments: dict[str, Any]) -> dict[str, Any]:
    if sampler is None:
        return arguments
    if arguments.get("grammar") is not None:
        raise ValueError("sampler and grammar both say what the text may be; give one of them")
    for name in (*_SETTINGS, *_FOREIGN_SETTINGS):
        if arguments.get(name) is not None:
            advice = f"give {name} to glr.Sampler" if name in _SETTINGS else "a glr.Sampler has its own settings"
            raise ValueError(f"{name} beside sampler would do nothing; {advice}")
    return {**arguments, "grammar": SamplerGrammar(sampler.restarted(arguments.get("seed")))}
