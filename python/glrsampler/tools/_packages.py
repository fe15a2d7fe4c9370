"""The packages that the tools need beside the library, with a message for who does not have them."""

from __future__ import annotations

try:
    import jsonschema
    import referencing
    import rfc8785
except ImportError as error:
    raise ImportError(f"glrsampler.tools needs {error.name}: pip install 'glrsampler[tools]'") from error

__all__ = ["jsonschema", "referencing", "rfc8785"]
