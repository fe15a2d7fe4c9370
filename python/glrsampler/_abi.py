"""The llama.cpp library that llama-cpp-python has loaded, checked before first use.

llama.cpp promises no stable ABI and its library's name does not change with it. Two things are checked: that
the structs are laid out as in cpp/llama/abi.hpp, by llama_cpp's own ctypes declarations, and that a sampler of
ours works when the library runs it. Functions come from the handle that llama_cpp holds; a library loaded by
name could be a second copy.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from types import ModuleType
from typing import Any

from . import _core
from .errors import LlamaAbiError

_ADVICE = "install a version that this one was made for: pip install 'glrsampler[llama]'"

# Fields of the mirrored structs, in the order of `_core.llama_layout()`.
_FIELDS = {
    "llama_token_data": ("id", "logit", "p"),
    "llama_token_data_array": ("data", "size", "selected", "sorted"),
    "llama_sampler": ("iface", "ctx"),
    "llama_sampler_i": ("name", "accept", "apply", "reset", "clone", "free"),
}


@functools.cache
def llama_cpp() -> ModuleType:
    """The module of llama-cpp-python's C functions."""
    try:
        return importlib.import_module("llama_cpp.llama_cpp")
    except ImportError as error:
        raise LlamaAbiError(f"llama-cpp-python is not installed ({error}); {_ADVICE}") from None


@functools.cache
def functions() -> tuple[int, int]:
    """Addresses of llama_sampler_init and llama_sampler_free, after the checks."""
    lib = llama_cpp()
    _check_layout(lib)
    addresses = (_address(lib, "llama_sampler_init"), _address(lib, "llama_sampler_free"))
    _check_round_trip(lib, addresses)
    return addresses


def chain_sampler(sampler: _core.Sampler, role: str) -> _core.ChainSampler:
    """A copy of `sampler` for the loaded library; role "full" or "grammar"."""
    init, free = functions()
    return _core.ChainSampler(sampler, role, init, free)


def _address(lib: ModuleType, name: str) -> int:
    address = ctypes.cast(getattr(lib._lib, name), ctypes.c_void_p).value
    if address is None:
        raise LlamaAbiError(f"the loaded llama.cpp has no function {name}; {_ADVICE}")
    return address


def _check_layout(lib: ModuleType) -> None:
    ours = _core.llama_layout()
    for struct, fields in _FIELDS.items():
        declared = getattr(lib, struct, ctypes.Structure)
        offsets = tuple(getattr(getattr(declared, field, None), "offset", None) for field in fields)
        if offsets != ours[struct][1:]:
            raise LlamaAbiError(f"struct {struct} of the loaded llama.cpp is laid out differently; {_ADVICE}")
        size = ctypes.sizeof(declared)
        # The table of functions grows at its end; ours has room. The others are fixed.
        if size > ours[struct][0] or (struct != "llama_sampler_i" and size != ours[struct][0]):
            raise LlamaAbiError(f"struct {struct} of the loaded llama.cpp has {size} bytes; {_ADVICE}")


def _check_round_trip(lib: ModuleType, addresses: tuple[int, int]) -> None:
    """Runs a sampler for the grammar "ab" through every function of the interface."""
    vocabulary = _core.Vocabulary([b"a", b"b", b"c"], [3], {3: "</s>"})
    constraint = _core.Grammar.from_gbnf('root ::= "ab"').compile(vocabulary)
    link = _core.ChainSampler(_core.Sampler(constraint, temperature=0.0, seed=0), "grammar", *addresses)
    shell = ctypes.cast(link.address, lib.llama_sampler_p_ctypes)

    def allowed(sampler: Any) -> list[int]:
        data = (lib.llama_token_data * 4)(*[(token, 0.0, 0.0) for token in range(4)])
        array = lib.llama_token_data_array(data, 4, -1, False)
        lib.llama_sampler_apply(sampler, ctypes.byref(array))
        return [array.data[i].id for i in range(array.size)]

    seen: list[Any] = [lib.llama_sampler_name(shell), allowed(shell)]
    lib.llama_sampler_accept(shell, 0)
    seen.append(allowed(shell))
    copy = lib.llama_sampler_clone(shell)
    lib.llama_sampler_reset(shell)
    seen += [allowed(shell), allowed(copy)]
    lib.llama_sampler_free(copy)
    lib.llama_sampler_free(ctypes.cast(link.release(), lib.llama_sampler_p_ctypes))
    seen.append(link.alive)
    if seen != [b"glrsampler", [0], [1], [0], [1], False]:
        raise LlamaAbiError(f"the loaded llama.cpp does not run samplers as expected; {_ADVICE}")
