"""What a session allows: the tools, and one hash over all that was declared about them."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import ToolError
from .canonical import digest
from .declaration import Tool


class Manifest:
    """The tools of a session, fixed for its length.

    ToolError when two have one name, and for an isolated tool that a process of its own could not find.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if not isinstance(tool, Tool):
                raise ToolError(f"{tool!r} is no tool; declare it with glrsampler.tools.tool")
            if tool.name in self._tools:
                raise ToolError(f"tool {tool.name}: two tools have this name")
            _check_isolated(tool)
            self._tools[tool.name] = tool
        self.hash = digest(self.record())

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        """The tool of this name."""
        return self._tools.get(name)

    def record(self) -> list[dict[str, Any]]:
        """What is hashed: everything that was declared, in the order of names."""
        return [
            {
                "name": tool.name,
                "version": tool.version,
                "capability": tool.capability,
                "description": tool.description,
                "schema": tool.schema_hash,
                "timeout": tool.timeout,
                "max_bytes": tool.max_bytes,
                "isolated": tool.isolated,
            }
            for tool in sorted(self, key=lambda tool: tool.name)
        ]


def _check_isolated(tool: Tool) -> None:
    if not tool.isolated:
        return
    try:
        pickle.dumps(tool)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ToolError(
            f"tool {tool.name}: its own process cannot find it ({error}); decorate a function at the top level of a "
            "module, or declare isolated=False if it always ends by itself"
        ) from None
