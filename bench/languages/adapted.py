"""Our Lark files in words that Lark and peers understand, with the same language.

`without_complements` writes `NAME & ~KEYWORD` as one regular expression, which neither Lark nor GLRMask has a notation
for; what comes out is read by Lark. `flat` has Lark itself read a grammar and writes what it made of it: plain rules
and terminals, templates written out, imports in place, no priorities, and reluctant quantifiers as expressions that
stop at the same place. It is for engines that refuse the file as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

#: Terminals that are more than a word without some words.
_BY_HAND: Final = {
    # PLAIN does not begin with a #; FIRST is no reserved word and does not begin like an assignment.
    "shell_pipeline": {
        "PLAIN": r"/([A-Za-z0-9_.\/:=+,@%^*?~!\[\]-]|[^\x00-\x7f]|\\[^\n])([A-Za-z0-9_.\/:=+,@%^*?~!\[\]#-]"
        r"|[^\x00-\x7f]|\\[^\n])*/",
        "FIRST": r"/{word}|[A-Za-z_][A-Za-z0-9_]*([.\/:+,@%^*?~!\[\]#-]|[^\x00-\x7f]|\\[^\n]){more}*"
        r"|!{more}+|([0-9.\/:=+,@%^*?~\[\]-]|[^\x00-\x7f]|\\[^\n]){more}*/",
    },
}
_SHELL_MORE: Final = r"([A-Za-z0-9_.\/:=+,@%^*?~!\[\]#-]|[^\x00-\x7f]|\\[^\n])"

#: Reluctant expressions of well-known grammars, and what stops at the same place.
_RELUCTANT: Final = {
    '".*?"': r'"[^"\n]*"',
    "`.*?`": r"`[^`\n]*`",
    r"\/\*[\s\S]*?\*\/": r"\/\*([^*]|\*+[^*\/])*\*+\/",
    "\\/\\*(.|\n)*?\\*\\/": r"\/\*([^*]|\*+[^*\/])*\*+\/",
    r'"(?:[^"\\]|\\.)*?"': r'"(?:[^"\\]|\\.)*"',
}


def without_complements(name: str, grammar: str) -> str:
    """`name`: of the file, for what is not of the form WORD & ~WORDS."""
    bodies = _terminals(grammar)
    for terminal, pattern in _BY_HAND.get(name, {}).items():
        words = [word for word in _words(bodies["RESERVED"]) if word != "!"]
        pattern = pattern.replace("{word}", word_without("A-Za-z_", "A-Za-z0-9_", words))
        grammar = grammar.replace(bodies[terminal], pattern.replace("{more}", _SHELL_MORE), 1)
    for body in bodies.values():
        found = re.search(r"(\w+|/\[([^/]+)\]\[([^/]+)\]\*/(i?)) & ~(\w+|\"\w+\")", body)
        if found is None or body not in grammar:
            continue
        base = found if found[2] else re.search(r"/\[([^/]+)\]\[([^/]+)\]\*/(i?)", bodies[found[1]])
        assert base is not None, body
        first, more, flags = base.groups()[-4:-1] if found[2] else base.groups()
        words = _words(found[5] if found[5].startswith('"') else bodies[found[5]])
        pattern = word_without(first, more, words)
        grammar = grammar.replace(body, body.replace(found[0], f"/{pattern}/{flags}"), 1)
    return grammar


def word_without(first: str, more: str, words: Sequence[str]) -> str:
    """A regular expression for `[first][more]*` without the words; both are the insides of classes.

    It follows the words letter by letter, and each branch leaves them with another letter: so it is deterministic,
    and a matcher that tries alternatives in turn finds the longest match as well.
    """

    def after(prefix: str) -> str:
        """What may come behind a proper prefix of words, the prefix itself being a word of the language or not."""
        going = sorted({word[len(prefix)] for word in words if word.startswith(prefix) and len(word) > len(prefix)})
        letters = more if prefix else first
        branches = [letter + after(prefix + letter) for letter in going]
        others = "".join(going)
        branches.append(f"{_without(letters, others)}[{more}]*")
        inner = "(" + "|".join(branches) + ")"
        return inner if prefix in words or not prefix else inner + "?"

    return after("")


def _without(letters: str, others: str) -> str:
    """The class `[letters]` without some of them, ranges split."""
    left: list[str] = []
    for part in re.findall(r".-.|.", letters):
        low, high = part[0], part[-1]
        for letter in sorted(c for c in others if low <= c <= high):
            if low < letter:
                left.append(low if low == chr(ord(letter) - 1) else f"{low}-{chr(ord(letter) - 1)}")
            low = chr(ord(letter) + 1)
        if low <= high:
            left.append(low if low == high else f"{low}-{high}")
    return "[" + "".join(left) + "]"


def _terminals(grammar: str) -> dict[str, str]:
    """Name -> body, as it is written."""
    found = re.finditer(r"^([A-Z_][A-Z0-9_]*): (.*(?:\n[ \t]+\|.*)*)", grammar, re.MULTILINE)
    return {match[1]: match[2] for match in found}


def _words(body: str) -> list[str]:
    return re.findall(r'"([^"]+)"', body)


def flat(grammar: str, folder: Path | None = None, *, blanks: bool = True) -> str:
    """What Lark reads, as plain rules and terminals. Without `blanks` rules do not name what is ignored: where two
    words need white space between them, none is asked for."""
    from lark import Lark

    made = Lark(grammar, parser="earley", keep_all_tokens=True, maybe_placeholders=False, import_paths=[str(folder)])
    names: dict[str, str] = {"start": "start"}
    rules: dict[str, list[str]] = {"start": []}

    def named(symbol: Any) -> str:
        prefix = "T" if symbol.is_term else "r"
        return names.setdefault(symbol.name, f"{prefix}{len(names)}")

    for rule in made.rules:
        symbols = [symbol for symbol in rule.expansion if blanks or symbol.name not in made.ignore_tokens]
        rules.setdefault(named(rule.origin), []).append(" ".join(map(named, symbols)))
    lines = [f"{name}: " + " | ".join(dict.fromkeys(alternatives)) for name, alternatives in rules.items()]
    ignored = set(made.ignore_tokens)
    for terminal in made.terminals:
        if terminal.name in names or terminal.name in ignored:
            name = names.setdefault(terminal.name, f"T{len(names)}")
            lines.append(f"{name}: {_pattern(terminal.pattern)}")
    lines += [f"%ignore {names[name]}" for name in made.ignore_tokens]
    return "\n".join(lines) + "\n"


def _pattern(pattern: Any) -> str:
    flags = "".join(sorted(pattern.flags))
    escapes = {chr(code): f"\\x{code:02x}" for code in range(32)}
    if pattern.type == "str":
        text = pattern.value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(escapes.get(c, c) for c in text) + f'"{flags}'
    text = re.sub(r"(\\.)|/", lambda match: match[1] or r"\/", pattern.value, flags=re.DOTALL)
    for old, new in _RELUCTANT.items():
        text = text.replace(old, new)
    return "/" + "".join(escapes.get(c, c) for c in text) + f"/{flags}"
