"""The sampler inside chains that llama.cpp runs, built here through ctypes as anybody might."""

from __future__ import annotations

import ctypes
import gc
import json
from collections.abc import Iterator, Sequence

import glrsampler as glr
import llama_cpp.llama_cpp as lib
import pytest
from glrsampler import _abi

END = 27


def sampler(vocabulary: glr.Vocabulary, grammar: str, **settings: float) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(grammar).compile(vocabulary), seed=3, **settings)


class Chain:
    """A chain with a link of ours first, then llama.cpp's own samplers."""

    def __init__(self, link: glr._core.ChainSampler, *others: lib.llama_sampler_p) -> None:
        self.pointer = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        self.link = link
        for shell in (ctypes.cast(link.release(), lib.llama_sampler_p_ctypes), *others):
            lib.llama_sampler_chain_add(self.pointer, shell)

    def apply(self, logits: Sequence[tuple[int, float]], *, ordered: bool = False) -> tuple[list[int], int]:
        """The ids that are left and the selected one (-1: none)."""
        data = (lib.llama_token_data * len(logits))(*[(token, logit, 0.0) for token, logit in logits])
        array = lib.llama_token_data_array(data, len(logits), -1, ordered)
        lib.llama_sampler_apply(self.pointer, ctypes.byref(array))
        left = [array.data[i].id for i in range(array.size)]
        return left, left[array.selected] if array.selected >= 0 else -1

    def write(self, logits: Sequence[tuple[int, float]], steps: int) -> list[int]:
        tokens = []
        for _ in range(steps):
            _, token = self.apply(logits)
            lib.llama_sampler_accept(self.pointer, token)
            tokens.append(token)
            if token == END:
                break
        return tokens

    def free(self) -> None:
        lib.llama_sampler_free(self.pointer)


ALL = [(token, float(token % 5)) for token in range(28)]


@pytest.fixture
def abab(letters: glr.Vocabulary) -> Iterator[Chain]:
    link = _abi.chain_sampler(sampler(letters, 'root ::= "ab" | "abab"'), "grammar")
    chain = Chain(link, lib.llama_sampler_init_greedy())
    yield chain
    chain.free()
    assert not link.alive


def test_grammar_link_shrinks_what_the_next_sampler_sees(abab: Chain) -> None:
    assert abab.apply(ALL) == ([0, 26], 26)
    assert abab.apply(ALL[::-1]) == ([26, 0], 26)
    assert abab.write(ALL, 9) in ([26, END], [26, 26, END])
    assert abab.link.status == "finished"


def test_sorted_array_keeps_its_order(letters: glr.Vocabulary) -> None:
    link = _abi.chain_sampler(sampler(letters, "root ::= [bdfhj]"), "grammar")
    chain = Chain(link)
    order = sorted(ALL, key=lambda pair: -pair[1])
    left, selected = chain.apply(order, ordered=True)
    assert left == [token for token, _ in order if token in (1, 3, 5, 7, 9)]
    assert selected == -1
    chain.free()


def test_reset_and_clone(abab: Chain) -> None:
    lib.llama_sampler_accept(abab.pointer, 0)
    copy = lib.llama_sampler_clone(abab.pointer)
    lib.llama_sampler_reset(abab.pointer)
    assert abab.apply(ALL)[0] == [0, 26]
    data = (lib.llama_token_data * 28)(*[(token, logit, 0.0) for token, logit in ALL])
    array = lib.llama_token_data_array(data, 28, -1, False)
    lib.llama_sampler_apply(copy, ctypes.byref(array))
    assert [array.data[i].id for i in range(array.size)] == [1]
    lib.llama_sampler_free(copy)
    assert abab.link.alive


def test_full_link_chooses_as_sample_does(letters: glr.Vocabulary) -> None:
    grammar = "root ::= [a-z]*"
    alone = sampler(letters, grammar, temperature=1.0, top_k=5)
    chain = Chain(_abi.chain_sampler(alone, "full"))
    logits = [logit for _, logit in ALL]
    for _ in range(50):
        token = alone.sample(logits)
        assert chain.apply(ALL) == ([token], token)
        assert chain.apply(ALL[::-1]) == ([token], token)
        lib.llama_sampler_accept(chain.pointer, token)
        alone.accept(token)
        if token == END:
            break
    chain.free()


def test_default_chain_after_a_dead_end_ends_the_generation() -> None:
    # The bytes of é are there, but in no token that fits.
    tokens = [*(bytes([byte]) for byte in range(ord("a"), ord("z"))), "éz".encode(), b"ab"]
    vocabulary = glr.Vocabulary.from_tokens(tokens, [27], {27: "</s>"})
    link = _abi.chain_sampler(sampler(vocabulary, 'root ::= "a" "é"'), "grammar")
    others = [lib.llama_sampler_init_top_k(40), lib.llama_sampler_init_top_p(0.95, 1),
              lib.llama_sampler_init_min_p(0.05, 1), lib.llama_sampler_init_temp(0.8),
              lib.llama_sampler_init_dist(1)]  # fmt: skip
    chain = Chain(link, *others)
    assert chain.write(ALL, 5) == [0, END]
    assert link.status == "dead_end"
    chain.free()


def test_a_probe_of_one_refused_token_is_not_selectable(abab: Chain) -> None:
    # As llama.cpp's common_sampler asks: one candidate, and a look at its logit.
    data = (lib.llama_token_data * 1)((5, 1.0, 0.0))
    array = lib.llama_token_data_array(data, 1, -1, False)
    shell = lib.llama_sampler_chain_get(abab.pointer, 0)
    lib.llama_sampler_apply(shell, ctypes.byref(array))
    assert data[0].logit == float("-inf")
    assert abab.link.status == "running"


def test_a_refused_token_is_reported(abab: Chain) -> None:
    lib.llama_sampler_accept(abab.pointer, 5)
    assert abab.link.status == "rejected"
    assert abab.link.message
    assert abab.apply(ALL)[1] == END


def test_freed_once_whichever_side_owns_it(letters: glr.Vocabulary) -> None:
    made = sampler(letters, "root ::= [ab]+")
    kept = _abi.chain_sampler(made, "grammar")
    assert kept.address != 0
    given = _abi.chain_sampler(made, "grammar")
    chain = Chain(given)
    assert given.address == 0
    assert given.alive
    chain.free()
    assert not given.alive
    taken_back = _abi.chain_sampler(made, "grammar")
    chain = Chain(taken_back)
    shell = lib.llama_sampler_chain_remove(chain.pointer, 0)
    chain.free()
    assert taken_back.alive
    lib.llama_sampler_free(shell)
    assert not taken_back.alive
    del kept, given, taken_back, made
    gc.collect()


def test_layout_mismatch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed(ctypes.Structure):
        _fields_ = (("id", ctypes.c_int64), ("logit", ctypes.c_float), ("p", ctypes.c_float))

    monkeypatch.setattr(lib, "llama_token_data", Changed)
    _abi.functions.cache_clear()
    with pytest.raises(glr.LlamaAbiError, match=r"llama_token_data .*pip install"):
        _abi.functions()
    monkeypatch.undo()
    assert all(_abi.functions())


def test_wrong_arguments(letters: glr.Vocabulary) -> None:
    made = sampler(letters, "root ::= [ab]+")
    with pytest.raises(ValueError, match="role"):
        _abi.chain_sampler(made, "other")
    with pytest.raises(ValueError, match="null"):
        glr._core.ChainSampler(made, "full", 0, 0)


def test_inside_the_demo_model(llm: glr.Llama, vocabulary: glr.Vocabulary) -> None:
    grammar = 'root ::= "[" [0-9]+ ("," [0-9]+){2} "]"'
    link = _abi.chain_sampler(sampler(vocabulary, grammar), "grammar")
    chain = Chain(link, lib.llama_sampler_init_temp(0.8), lib.llama_sampler_init_dist(5))
    llm.reset()
    llm.eval(llm.tokenize(b"Three numbers: "))
    text = b""
    for _ in range(60):
        token = lib.llama_sampler_sample(chain.pointer, llm.ctx, -1)
        if token in vocabulary.end_tokens:
            break
        text += vocabulary.token_bytes(token)
        llm.eval([token])
    assert link.status in ("finished", "running")
    if link.status == "finished":
        assert len(json.loads(text)) == 3
    chain.free()
    assert not link.alive
