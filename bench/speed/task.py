"""What every contender is asked to write, and how tokens are chosen."""

from __future__ import annotations

from typing import Final

TEMPERATURE: Final = 0.8
TOP_K: Final = 40
TOP_P: Final = 0.95
MIN_P: Final = 0.05
SEED: Final = 7

QUESTIONS: Final = (
    "Describe a small library as a JSON object: its name, address, opening hours and five books.",
    "Write a JSON array of ten birds, each an object with name, length in cm and a short description.",
    "A weather report for a week as JSON, each day with temperatures and a sentence of text.",
)


def prompt(question: str) -> str:
    """By the template of the demo model."""
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
