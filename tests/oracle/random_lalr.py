"""Random Lark grammars for a contextual lexer: terminals that compete, of which Lark's LALR parser takes one third."""

from __future__ import annotations

import logging
from random import Random

import lark


def random_lalr(seed: int) -> tuple[str, str]:
    """A grammar and the letters of its texts."""
    rng = Random(seed)
    letters = rng.choice(("ab", "abc", "ab "))
    terminals = {f"T{i}": (_pattern(rng, letters, 2), rng.choice((0, 0, 0, 1))) for i in range(rng.randrange(1, 4))}
    rules = ["start"] + [f"r{i}" for i in range(rng.randrange(3))]

    def item() -> str:
        kind = rng.random()
        if kind < 0.45:
            return rng.choice(list(terminals))
        if kind < 0.7:
            return '"' + "".join(rng.choices(letters, k=rng.choice((1, 1, 2, 3)))) + '"'
        return rng.choice(rules) if kind < 0.9 else "(" + alternatives() + ")"

    def alternatives() -> str:
        rows = [
            " ".join(item() + rng.choice(("", "", "", "?", "*", "+")) for _ in range(rng.choice((1, 2, 2, 3))))
            for _ in range(rng.choice((1, 2, 2)))
        ]
        return " | ".join(rows)

    lines = [f"{rule}: {alternatives()}" for rule in rules]
    lines += [f"{name}{f'.{rank}' if rank else ''}: /{text}/" for name, (text, rank) in terminals.items()]
    if rng.random() < 0.4:
        lines.append(f"%ignore /{rng.choice((' +', '[b]', 'a b'))}/")
        letters = "".join(sorted({*letters, " "}))
    return "\n".join(lines), letters


def _pattern(rng: Random, letters: str, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.4:
        return "".join(rng.choices(letters, k=rng.choice((1, 1, 2))))
    if kind < 0.6:
        return "[" + "".join(sorted(set(rng.choices(letters, k=2)))) + "]" + rng.choice(("", "+"))
    if kind < 0.8:
        return _pattern(rng, letters, depth - 1) + _pattern(rng, letters, depth - 1)
    return "(" + _pattern(rng, letters, depth - 1) + ")" + rng.choice(("?", "+"))


class _Conflicts(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def emit(self, record: logging.LogRecord) -> None:
        self.found = self.found or "conflict" in record.getMessage().lower()


def lalr_parser(grammar: str) -> lark.Lark | None:
    """Lark's parser; None when it refuses the grammar, or says that it settled a conflict its own way."""
    conflicts = _Conflicts()
    handlers, level = lark.logger.handlers, lark.logger.level
    lark.logger.handlers, lark.logger.level = [conflicts], logging.DEBUG
    try:
        parser = lark.Lark(grammar, parser="lalr", lexer="contextual", debug=True)
    except lark.exceptions.LarkError:
        return None
    finally:
        lark.logger.handlers, lark.logger.level = handlers, level
    return None if conflicts.found else parser
