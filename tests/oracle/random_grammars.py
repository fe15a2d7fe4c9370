"""Random grammars over the whole GBNF language, random vocabularies for them, and texts to build walks from.

Everything is a function of a seed, so a failure is named by its seed. Grammars are kept small: the oracle
answers in milliseconds. Nothing here asks the product anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from oracle.earley import ModelToken, NoSentence, Recogniser
from oracle.gbnf import parse

# What literals, classes and tokens are made of. Few letters, so that random texts meet random grammars.
ALPHABETS = (
    "ab",
    "abc",
    "ab01+",
    '"{}:,a1',
    "()[]-^\\",
    "a \n\t",
    "aé",
    "日本語a",
    "🎉🎊é\u07ff\u0800\uffff",
    "ÿa\x7f\x80",
)
SPECIAL_NAMES = ("<think>", "</think>", "<|tool|>", "<s>", "<|end|>", "<|eot|>")


@dataclass(frozen=True)
class Case:
    """A grammar with a vocabulary. `no_sentence`: the grammar derives no text and must be refused."""

    seed: int
    grammar: str
    tokens: tuple[ModelToken, ...]
    end_tokens: tuple[int, ...]
    no_sentence: bool = False

    def special_tokens(self) -> dict[int, str]:
        return {token.id: token.name for token in self.tokens if token.name}

    def describe(self) -> str:
        rows = [f"  {t.id:3} {t.data!r} {t.name}{' end' * (t.id in self.end_tokens)}" for t in self.tokens]
        return "\n".join([f"seed {self.seed}", self.grammar, "tokens:", *rows])


def random_case(seed: int) -> Case:
    rng = Random(seed)
    alphabet = rng.choice(ALPHABETS)
    tokens, end_tokens = _first_tokens(rng, alphabet)
    grammar = _GrammarWriter(rng, alphabet, tokens, end_tokens).grammar()
    try:
        recogniser = Recogniser(parse(grammar), vocabulary=tokens)
    except NoSentence:
        return Case(seed, grammar, tuple(tokens), end_tokens, no_sentence=True)
    texts = random_texts(rng, recogniser, count=6, length=12, likely=alphabet.encode())
    _add_text_tokens(rng, tokens, alphabet, texts)
    return Case(seed, grammar, tuple(tokens), end_tokens)


def random_texts(rng: Random, recogniser: Recogniser, count: int, length: int, likely: bytes = b"") -> list[bytes]:
    """Prefixes of sentences, of bytes only, mostly of `likely` ones; now and then with a wrong byte at the end."""
    texts = []
    for _ in range(count):
        here, text = recogniser.initial, b""
        while len(text) < length and (options := sorted(here.next_bytes())):
            if rng.random() < 0.7:
                options = [byte for byte in options if byte in likely] or options
            byte = rng.choice(options)
            here, text = recogniser.advance_byte(here, byte), text + bytes((byte,))
        texts.append(text + bytes((rng.randrange(256),)) if rng.random() < 0.2 else text)
    return texts


def _first_tokens(rng: Random, alphabet: str) -> tuple[list[ModelToken], tuple[int, ...]]:
    """The tokens a grammar can name: the characters of the alphabet and the special tokens, in any order."""
    specials = rng.sample(SPECIAL_NAMES, rng.randrange(1, len(SPECIAL_NAMES)))
    texts: list[bytes | str] = [char.encode() for char in alphabet] + list(specials)
    if rng.random() < 0.3:
        texts.append(b"<x>")  # a text token that a token literal can name
    rng.shuffle(texts)
    tokens = []
    for id, text in enumerate(texts):
        if isinstance(text, bytes):
            tokens.append(ModelToken(id, text))
        else:
            tokens.append(ModelToken(id, rng.choice((b"", text.encode())), text, special=True))
    ends = [token.id for token in tokens if token.name]
    return tokens, tuple(sorted(rng.sample(ends, rng.randrange(1, min(3, len(ends)) + 1))))


def _add_text_tokens(rng: Random, tokens: list[ModelToken], alphabet: str, texts: list[bytes]) -> None:
    """Pieces of texts of the grammar, wherever they cut it, and what a real vocabulary has besides."""
    extra = []
    for text in texts:
        for _ in range(4):
            start = rng.randrange(len(text) + 1)
            extra.append(text[start : start + rng.randrange(1, 6)])
    extra = list(filter(None, extra))
    extra += ["".join(rng.choices(alphabet, k=rng.randrange(2, 4))).encode() for _ in range(4)]
    encoded = alphabet.encode()
    extra += [bytes((rng.choice(encoded),)) for _ in range(3)]
    if rng.random() < 0.3:
        extra.append(b"")
    if rng.random() < 0.5:
        extra += [bytes((rng.randrange(0x80, 0x100),)), b"\xc3", b"\xe6\x97", b"\xa5\xe6", b"\xf0\x9f"]
    if rng.random() < 0.3:
        extra += [b"<think>", b"<", b">"]  # the text of a special token as a text token
    if rng.random() < 0.4:
        extra += rng.choices(extra, k=2)  # tokens with equal bytes
    rng.shuffle(extra)
    for data in extra:
        tokens.append(ModelToken(len(tokens), data))


class _GrammarWriter:
    def __init__(self, rng: Random, alphabet: str, tokens: list[ModelToken], end_tokens: tuple[int, ...]) -> None:
        self.rng, self.alphabet = rng, alphabet
        names = [t for t in tokens if t.id not in end_tokens]
        self.literals = [t.name for t in names if t.name]
        self.literals += [f"<[{t.id}]>" for t in names]
        self.literals += ["<x>" for t in tokens if t.data == b"<x>"]
        self.use_tokens = rng.random() < 0.35
        self.use_bounds = rng.random() < 0.15
        self.rules = ["root"] + [f"{rng.choice(('r', 'rule-', 'x_', '9'))}{i}" for i in range(rng.randrange(5))]

    def grammar(self) -> str:
        lines = [f"{name} ::= {self.body(name)}" for name in self.rules]
        self.rng.shuffle(lines)
        if self.rng.random() < 0.2:
            lines.insert(self.rng.randrange(len(lines) + 1), '# a comment, "unclosed')
        return self.rng.choice(("\n", "\n", "\n\n", "\r\n")).join(lines) + self.rng.choice(("", "\n"))

    def body(self, name: str) -> str:
        """Half of the bodies have a shape that is hard for some algorithm; the others are free."""
        x, y, other = self.item(1), self.item(1), self.rng.choice(self.rules)
        shapes = (
            lambda: f"{name} {x} | {y}",  # left recursion
            lambda: f"{other} {x} | {y}",  # perhaps indirect
            lambda: f"{x}? {name} {y} | {self.literal()}",  # hidden behind what can be empty
            lambda: f"{other}* {name} {y} | {self.literal()}",
            lambda: f"{x} {name} | {y}",  # right recursion
            lambda: f"{x} {name} {y} | {self.literal()}",  # brackets
            lambda: f"{x} {name} {x} | {y}?",  # palindromes
            lambda: f"{name} {name} | {y}",  # ambiguous
            lambda: f"{name} {name} {name} | | {y}",
            lambda: f"{name} | {other} | {y}",  # cyclic
            lambda: f"({name}? {x})* | {y}",
            lambda: f"(({x}* {y}?)* {other}?)+",
            lambda: f"{x} ({name} | {other} {y})? {self.literal()}",
            lambda: f"{name} {x} | {other}",
        )
        if self.rng.random() < 0.5:
            return self.rng.choice(shapes)()
        return self.alternatives(2)

    def alternatives(self, depth: int) -> str:
        options = [self.sequence(depth) for _ in range(self.rng.choice((1, 1, 2, 2, 3)))]
        return self.rng.choice((" | ", "|", " |\n  ")).join(options)

    def sequence(self, depth: int) -> str:
        return " ".join(self.item(depth) for _ in range(self.rng.choice((1, 1, 2, 2, 3))))

    def item(self, depth: int) -> str:
        kind = self.rng.random()
        if kind < 0.3:
            item = self.literal()
        elif kind < 0.5:
            item = self.char_class()
        elif kind < 0.55:
            item = "."
        elif kind < 0.8 or depth == 0:
            item = self.rng.choice(self.rules)
        elif kind < 0.87 and self.use_tokens:
            item = self.rng.choice(("", "", "!")) + self.rng.choice(self.literals)
        else:
            item = f"({self.alternatives(depth - 1)})"
        if self.rng.random() >= 0.25:
            return item
        return item + self.quantifier(large=self.use_bounds and item != '""' and kind < 0.55)

    def quantifier(self, large: bool) -> str:
        """Large bounds only on what is not empty: nested, the oracle would count for minutes."""
        rng = self.rng
        if large:
            low, more = rng.choice((0, 1, 7, 50)), rng.choice((10, 60, 300))
            return rng.choice((f"{{{low},{low + more}}}", f"{{{low},}}", f"{{,{more}}}", f"{{{more}}}"))
        low = rng.randrange(3)
        return rng.choice(
            ("*", "*", "+", "?", "?", f"{{{low}}}", f"{{{low},}}", f"{{,{low}}}", f"{{{low},{low + rng.randrange(3)}}}")
        )

    def literal(self) -> str:
        text = "".join(self.rng.choices(self.alphabet, k=self.rng.choice((0, 1, 1, 1, 2, 2, 3))))
        return '"' + "".join(self.char(c, '"\\') for c in text) + '"'

    def char(self, char: str, must_escape: str) -> str:
        code, kind = ord(char), self.rng.random()
        if kind < 0.1 and code < 0x100:
            return f"\\x{code:02X}"
        if kind < 0.2 and code < 0x10000:
            return f"\\u{code:04x}"
        if kind < 0.25:
            return f"\\U{code:08x}"
        if char in "\n\t" and kind < 0.9:
            return {"\n": "\\n", "\t": "\\t"}[char]
        return "\\" + char if char in must_escape else char

    def char_class(self) -> str:
        parts = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            low, high = sorted((self.rng.choice(self.alphabet), self.rng.choice(self.alphabet)))
            if self.rng.random() < 0.6:
                parts.append(self.char(low, "]\\-^["))
            else:
                parts.append(f"{self.char(low, ']-[' + chr(92))}-{self.char(high, ']-[' + chr(92))}")
        members = "".join(parts)
        # `^` has no escape and negates when it comes first, so there it is written as a number.
        members = members.replace("\\^", "\\x5E")
        if members.startswith("^"):
            members = "\\x5E" + members[1:]
        if self.rng.random() < 0.1:
            members = self.rng.choice(("-" + members, members + "-"))
        return f"[{'^' if self.rng.random() < 0.3 else ''}{members}]"
