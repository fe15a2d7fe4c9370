"""Times a constrained sampling step against llama.cpp's unconstrained one, in alternating runs.

    python bench/sampling/step.py [--rounds 30] [--steps 20] [--size 128256]

Prints the median of the rounds' mean step in microseconds and the ratio of ours to theirs (median of
the rounds' ratios, so that a disturbance hits both). Without llama-cpp-python only our times are printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping

import glrsampler_step
import scenario

try:
    import llama_cpp_step
except ModuleNotFoundError:
    llama_cpp_step = None  # type: ignore[assignment]


def mean_step(contender: scenario.Contender, steps: int) -> float:
    """Microseconds a step, over ``steps`` steps."""
    start = time.perf_counter_ns()
    for _ in range(steps):
        contender.run()
    return (time.perf_counter_ns() - start) / steps / 1e3


def measure(contenders: Mapping[str, scenario.Contender], rounds: int, steps: int) -> dict[str, list[float]]:
    """Each contender's rounds; they take turns."""
    for contender in contenders.values():
        mean_step(contender, 3)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            times[name].append(mean_step(contender, steps))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=20, help="a round")
    parser.add_argument("--size", type=int, action="append", help="of the vocabulary; may be repeated")
    options = parser.parse_args()
    print(f"{'vocabulary':>10} {'allowed':>8} {'ours us':>9} {'llama.cpp us':>13} {'ratio':>7} {'aim':>6}")
    for size in options.size or scenario.VOCABULARY_SIZES:
        step = scenario.Step.of(size)
        vocabulary = glrsampler_step.vocabulary(size)
        contenders: dict[str, scenario.Contender] = {}
        if llama_cpp_step is not None:
            contenders["llama.cpp"] = llama_cpp_step.Unconstrained(step)
        for name, gbnf in scenario.GRAMMARS.items():
            contenders[name] = glrsampler_step.Constrained(step, vocabulary, gbnf)
        times = measure(contenders, options.rounds, options.steps)
        theirs = times.pop("llama.cpp", None)
        for name, ours in times.items():
            line = f"{size:>10} {name:>8} {statistics.median(ours):>9.1f}"
            if theirs is not None:
                ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
                line += f" {statistics.median(theirs):>13.1f} {ratio:>7.3f} {scenario.AIMS[name]:>6.3f}"
            print(line)


if __name__ == "__main__":
    main()
