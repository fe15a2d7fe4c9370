"""Plots for the documentation, as SVG. Needs matplotlib (extra `plot`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Title -> contender -> nanoseconds.
Panels = dict[str, dict[str, list[int]]]


def pyplot() -> Any:
    """matplotlib.pyplot, set up so that the same figures make the same small file."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "glrsampler"
    from matplotlib import pyplot

    return pyplot


def save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot().close(figure)


def tails(panels: Panels, path: Path) -> None:
    """Distributions as time over the share of tokens that take longer, a panel for each title."""
    columns = min(2, max(1, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    size = (6 * columns, 4 * rows)
    figure, grid = pyplot().subplots(rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True)
    for (title, contenders), axes in zip(panels.items(), grid.flat, strict=False):
        for contender, times in contenders.items():
            if times:
                axes.plot(*_tail(times), label=contender, linewidth=1.2)
        axes.set(xscale="log", yscale="log", title=title)
        axes.grid(alpha=0.3)
        axes.legend()
    for axes in grid[-1]:
        axes.set(xlabel="share of tokens that take longer")
    for axes in grid[:, 0]:
        axes.set(ylabel="mask + commit, microseconds")
    grid[0][0].invert_xaxis()
    save(figure, path)


def _tail(nanoseconds: list[int]) -> tuple[list[float], list[float]]:
    """Shares and microseconds at some 70 points for each decade of the share: a picture has no room for more."""
    times = sorted(nanoseconds)
    kept: list[tuple[float, float]] = []
    for index, time in enumerate(times):
        share = 1 - index / len(times)
        if not kept or share < kept[-1][0] * 0.97 or index == len(times) - 1:
            kept.append((share, time / 1e3))
    return [share for share, _ in kept], [time for _, time in kept]
