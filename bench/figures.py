"""From times to tables: percentiles, ratios, Markdown."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

#: The points at which a distribution is shown; a mean hides the tail, which is what a user waits for.
POINTS: Final = (("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("p99.99", 99.99), ("max", 100.0))

Cell = str | float | int


def percentiles(nanoseconds: Sequence[int]) -> dict[str, float]:
    """Microseconds at POINTS; empty without times."""
    if not nanoseconds:
        return {}
    values = np.asarray(nanoseconds, dtype=np.float64) / 1e3
    return {name: float(np.percentile(values, at)) for name, at in POINTS}


def ratio(ours: float | None, theirs: float | None) -> Cell:
    """How many times theirs ours is; below 1 is better."""
    return f"{ours / theirs:.3g}" if ours is not None and theirs else "-"


@dataclass
class Table:
    """One table of a report. Numbers are written with three digits."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)

    def markdown(self) -> str:
        head = "| " + " | ".join(self.columns) + " |\n|" + "---|" * len(self.columns)
        body = ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in self.rows]
        return f"{self.title}\n\n" + "\n".join([head, *body]) + "\n"


@dataclass
class Report:
    """What a scenario found: tables to read and the figures behind them."""

    scenario: str
    settings: Mapping[str, Any]
    tables: list[Table]
    figures: Any = None
    #: What must not be: masks that differ between our own modes, a valid text refused by us.
    faults: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        machine_line = ", ".join(f"{key} {value}" for key, value in machine().items())
        settings = ", ".join(f"{key} {value}" for key, value in self.settings.items())
        return "\n".join([f"{machine_line}; {settings}.\n", *(table.markdown() for table in self.tables)])

    def write_json(self, path: Path) -> None:
        data: dict[str, Any] = {"scenario": self.scenario, "machine": machine(), "settings": dict(self.settings)}
        data |= {"tables": [vars(table) for table in self.tables], "figures": self.figures, "faults": self.faults}
        path.write_text(json.dumps(data, indent=1, default=str) + "\n")

    def has_place(self, path: Path) -> bool:
        """Whether a document has the scenario's markers."""
        return self._begin in path.read_text()

    def write_markdown(self, path: Path) -> None:
        """Replaces what stands between the scenario's markers in a document."""
        begin, end = self._begin, "<!-- end -->"
        before, found, rest = path.read_text().partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{path} has no lines '{begin}' and '{end}'")
        path.write_text(f"{before}{begin}\n\n{self.markdown()}\n{end}{after}")

    @property
    def _begin(self) -> str:
        return f"<!-- bench {self.scenario} -->"


def machine() -> dict[str, str]:
    """What a figure depends on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "date": time.strftime("%Y-%m-%d"),
        "CPU": model,
        "cores": str(os.cpu_count()),
        "load": load,
        "Python": platform.python_version(),
    }


def resident_bytes(process: int | None = None) -> int:
    """Memory of a process in use now; 0 where the system does not say."""
    return _status(process, "VmRSS")


def peak_bytes(process: int | None = None) -> int:
    """The most that a process has used."""
    return _status(process, "VmHWM")


def _status(process: int | None, key: str) -> int:
    try:
        lines = Path(f"/proc/{process or 'self'}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":")), 0)


def mib(count: float) -> float:
    return count / 2**20


def _shown(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell.replace("|", "\\|")
    if isinstance(cell, int):
        return f"{cell:,}"
    if cell >= 1000:
        return f"{cell:,.0f}"
    return f"{cell:.3g}"
