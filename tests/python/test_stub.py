"""The stub of the compiled module names what the module has, with the same parameters."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import glrsampler
import glrsampler._core as core
import pytest

STUB = ast.parse((Path(glrsampler.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def stub_functions(name: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if a.arg != "self"]


def compiled_parameters(docstring: str) -> list[str]:
    """From the signature that pybind11 puts on the first line of a docstring."""
    inside = re.sub(r"\[[^\[\]]*\]", "", docstring.split("\n")[0])
    return [name for name in re.findall(r"(\w+): ", inside[inside.index("(") :]) if name != "self"]


def test_module_names() -> None:
    functions = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    assert public(dir(core)) == set(CLASSES) | functions


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_class_names(name: str) -> None:
    assert public(list(vars(getattr(core, name)))) == public(list(stub_functions(name)))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_parameters(name: str) -> None:
    for method, node in stub_functions(name).items():
        compiled = getattr(getattr(core, name), method)
        if isinstance(compiled, property):
            assert [ast.unparse(d) for d in node.decorator_list] == ["property"], method
        elif not method.startswith("__") or method == "__init__":
            assert compiled_parameters(compiled.__doc__) == parameters(node), method
