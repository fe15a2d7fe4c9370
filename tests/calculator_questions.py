"""Questions for the calculator, each with an expression that answers it.

`python tests/calculator_questions.py` asks the demo model all of them and prints how it did. What must hold for every
one is asserted in tests/python/tools/test_session.py; how often a small model's expression is right is only reported.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator

import glrsampler as glr
from glrsampler.cli import embedded_model
from glrsampler.tools.calculator import evaluate

QUESTIONS = [
    ("What is 12 * 34?", "12*34"), ("What is 7 plus 8?", "7+8"), ("What is 100 minus 37?", "100-37"),
    ("What is 144 divided by 12?", "144/12"), ("Calculate 3 + 4 * 5.", "3+4*5"), ("Calculate (3 + 4) * 5.", "(3+4)*5"),
    ("What is 2 to the power of 10?", "2^10"), ("What is the square root of 81?", "sqrt(81)"),
    ("Add 15, 25 and 35.", "15+25+35"), ("Multiply 6 by 7.", "6*7"), ("What is 1.5 + 2.25?", "1.5+2.25"),
    ("What is 9 * 9 * 9?", "9*9*9"), ("How much is 250 - 125?", "250-125"), ("What is 17 + 25?", "17+25"),
    ("Divide 1000 by 8.", "1000/8"), ("What is 5 squared?", "5^2"), ("What is 3 cubed?", "3^3"),
    ("What is half of 86?", "86/2"), ("What is twice 45?", "2*45"), ("Subtract 19 from 64.", "64-19"),
    ("What is 0.1 + 0.2?", "0.1+0.2"), ("Calculate 10 / 4.", "10/4"), ("Calculate 2 * (10 - 3).", "2*(10-3)"),
    ("What is 99 + 1?", "99+1"), ("What is 123 + 456?", "123+456"), ("What is 50 * 20?", "50*20"),
    ("Calculate sqrt(16) + 4.", "sqrt(16)+4"), ("What is the absolute value of -12?", "abs(-12)"),
    ("Round 3.7.", "round(3.7)"), ("What is 8 * 125?", "8*125"), ("What is 1024 / 2?", "1024/2"),
    ("What is 365 * 24?", "365*24"), ("What is 60 * 60 * 24?", "60*60*24"), ("Compute 2^8 - 1.", "2^8-1"),
    ("Compute (1 + 2) * (3 + 4).", "(1+2)*(3+4)"), ("Compute 7 * 8 + 6.", "7*8+6"), ("Compute 81 / 9 / 3.", "81/9/3"),
    ("What is 20 percent of 150?", "0.2*150"), ("I have 3 boxes of 12 eggs. How many eggs?", "3*12"),
    ("Tom had 20 apples and ate 6. How many are left?", "20-6"), ("What is -5 + 3?", "-5+3"),
    ("What is 1000000 * 1000000?", "1000000*1000000"), ("Calculate 3.14 * 2 * 2.", "3.14*2*2"),
    ("What is 11 * 11?", "11*11"), ("What is 13 - 20?", "13-20"), ("What is 4 + 4 + 4 + 4?", "4+4+4+4"),
    ("What is 72 / 6?", "72/6"), ("What is 33 * 3?", "33*3"), ("What is 500 + 250 + 125?", "500+250+125"),
    ("What is 15 * 4 - 10?", "15*4-10"),
]  # fmt: skip


def calls(llm: glr.Llama, questions: list[tuple[str, str]]) -> Iterator[tuple[str, str, glr.tools.Outcome]]:
    """Each question, the right expression, and what became of the model's call."""
    session = glr.tools.Session(
        llm, [glr.tools.calculator], automatic=["calculator"], tool_choice="calculator", temperature=0.0, seed=1
    )
    for question, expression in questions:
        for event in session.run([{"role": "user", "content": question}]):
            if event.outcome is not None:
                yield question, expression, event.outcome
                break


def main() -> None:
    """Asks all of them."""
    llm = glr.Llama(model_path=str(embedded_model()), n_ctx=1024, n_threads=1, n_threads_batch=1, verbose=False)
    counts: Counter[str] = Counter()
    began = time.perf_counter()
    for question, expression, outcome in calls(llm, QUESTIONS):
        counts[outcome.reason.value] += 1
        result = outcome.result if outcome.executed else {}
        right = math.isclose(result.get("result", math.nan), evaluate(expression))
        counts["right"] += right
        print(f"{'right' if right else 'wrong':6} {question:50} {outcome.text()}", flush=True)
    print(dict(counts), f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
