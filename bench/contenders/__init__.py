"""Ways to constrain a model, each behind the same few calls. Peers are measured when they are installed.

`NAMES` is the order in which they are shown; the first is what the others are compared with.
"""

from __future__ import annotations

import importlib
from typing import Final

from ..vocabularies import Tokens
from .contender import Contender

#: Name -> module and class.
NAMES: Final = {
    "glrsampler": ("glrsampler", "Lazy"),
    "glrsampler eager": ("glrsampler", "Eager"),
    "glrsampler background": ("glrsampler", "Background"),
    "llguidance": ("llguidance", "LlGuidance"),
    "glrmask": ("glrmask", "GlrMask"),
    "xgrammar": ("xgrammar", "XGrammar"),
    "llama.cpp": ("llama_cpp", "LlamaCpp"),
}
OURS: Final = tuple(name for name, (module, _) in NAMES.items() if module == "glrsampler")
REFERENCE: Final = "glrsampler"


def make(name: str, vocabulary: Tokens) -> Contender:
    """ImportError when the peer is not installed."""
    module, kind = NAMES[name]
    made: Contender = getattr(importlib.import_module(f"{__name__}.{module}"), kind)(vocabulary)
    return made
