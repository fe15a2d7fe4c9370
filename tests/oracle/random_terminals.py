"""Random Lark grammars whose terminals overlap with what follows them, and random vocabularies for them.

Everything is a function of a seed. The product gets the grammar as a text; the oracle of `longest_match` gets the same
syntax tree, with what is ignored written out.
"""

from __future__ import annotations

from random import Random

from oracle.earley import ModelToken
from oracle.gbnf import Alt, Bytes, Literal, Node, Ref, Repeat, Seq, Terminal
from oracle.longest_match import Reader
from oracle.random_grammars import Case

# Few letters: terminals meet their own beginnings again soon. The last: letters that share their first byte.
ALPHABETS = ("ab", "ab", "abc", "ab ", "a0.", "aéè")
BOUNDS = ((0, 1), (0, None), (1, None), (1, None), (1, 2), (0, 2), (2, 3))


def random_case(seed: int) -> tuple[Case, Reader]:
    writer = _Writer(Random(seed))
    rng, letters = writer.rng, bytes(sorted(set(writer.alphabet.encode())))
    texts = [bytes((b,)) for b in letters] + [bytes(rng.choices(letters, k=rng.randrange(2, 5))) for _ in range(12)]
    tokens = [ModelToken(id, text) for id, text in enumerate(texts)]
    end = ModelToken(len(tokens), b"", "<end>", special=True)
    reader = Reader(writer.rules(), letters, vocabulary=tokens)
    case = Case(seed, writer.grammar(), (*tokens, end), (end.id,), no_sentence=not reader.initial.viable)
    return case, reader


class _Writer:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.alphabet = rng.choice(ALPHABETS)
        self.terminals = {f"T{i}": Terminal(self.regular(2)) for i in range(rng.randrange(1, 4))}
        self.ignored: Terminal | None = None
        if rng.random() < 0.25:
            loop = Repeat(self.some_of(rng.choice(self.alphabet)), 1, None)
            self.ignored = Terminal(loop if rng.random() < 0.7 else self.regular(1))
            if rng.random() < 0.5:  # white space that is ignored, and here and there demanded
                self.terminals["IGNORED"] = self.ignored
        self.names = ["start"] + [f"r{i}" for i in range(rng.randrange(3))]
        self.bodies = {name: self.body(name) for name in self.names}

    # --- the grammar in both forms

    def grammar(self) -> str:
        lines = [f"{name}: {self.text(body)}" for name, body in self.bodies.items()]
        lines += [f"{name}: {self.text(terminal.item)}" for name, terminal in self.terminals.items()]
        if self.ignored is not None:
            if "IGNORED" not in self.terminals:
                lines.append(f"IGNORED: {self.text(self.ignored.item)}")
            lines.append("%ignore IGNORED")
        return "\n".join(lines)

    def text(self, node: Node) -> str:
        match node:
            case Literal(data):
                return '"' + data.decode() + '"'
            case Bytes(members):
                return "/[" + "".join(map(chr, sorted(members))) + "]/"
            case Ref(name):
                return name
            case Seq(items):
                return "(" + " ".join(map(self.text, items)) + ")"
            case Alt(options):
                return "(" + " | ".join(map(self.text, options)) + ")"
            case Repeat(item, low, high):
                short = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((low, high))
                inner = f"({self.text(item)})" if isinstance(item, Repeat) else self.text(item)
                return inner + (short or f"~{low}..{high}")
        raise AssertionError(node)

    def rules(self) -> dict[str, Node]:
        rules: dict[str, Node] = {name: self.with_ignored(body) for name, body in self.bodies.items()}
        if self.ignored is not None:
            rules["start"] = Seq((Repeat(self.ignored, 0, None), rules["start"]))
        return rules | self.terminals

    def with_ignored(self, node: Node) -> Node:
        match node:
            case Literal() | Ref() if isinstance(node, Literal) or node.name in self.terminals:
                return node if self.ignored is None else Seq((node, Repeat(self.ignored, 0, None)))
            case Seq(items):
                return Seq(tuple(map(self.with_ignored, items)))
            case Alt(options):
                return Alt(tuple(map(self.with_ignored, options)))
            case Repeat(item, low, high):
                return Repeat(self.with_ignored(item), low, high)
        return node

    # --- random parts

    def literal(self) -> Node:
        return Literal("".join(self.rng.choices(self.alphabet, k=self.rng.choice((1, 1, 2, 3)))).encode())

    def some_of(self, letters: str) -> Node:
        if letters.isascii():
            return Bytes(frozenset(letters.encode()))
        return Alt(tuple(Literal(letter.encode()) for letter in letters))

    def regular(self, depth: int) -> Node:
        kind = self.rng.random()
        if depth == 0 or kind < 0.3:
            if self.rng.random() < 0.5:
                return self.literal()
            return self.some_of("".join(self.rng.sample(self.alphabet, self.rng.randrange(1, len(self.alphabet) + 1))))
        if kind < 0.55:
            return Seq(tuple(self.regular(depth - 1) for _ in range(self.rng.randrange(2, 4))))
        if kind < 0.7:
            return Alt((self.regular(depth - 1), self.regular(depth - 1)))
        return Repeat(self.regular(depth - 1), *self.rng.choice(BOUNDS))

    def terminal(self) -> Node:
        return Ref(self.rng.choice(list(self.terminals)))

    def item(self, depth: int = 1) -> Node:
        kind = self.rng.random()
        if depth > 0 and kind < 0.2:
            item = self.alternatives(depth - 1)
        elif kind < 0.55:
            item = self.terminal()
        elif kind < 0.7:
            item = self.literal()
        else:
            item = Ref(self.rng.choice(self.names))
        return item if self.rng.random() < 0.75 else Repeat(item, *self.rng.choice(BOUNDS))

    def alternatives(self, depth: int) -> Node:
        return Alt(
            tuple(
                Seq(tuple(self.item(depth) for _ in range(self.rng.choice((1, 1, 2, 2, 3)))))
                for _ in range(self.rng.choice((1, 2, 2, 3)))
            )
        )

    def body(self, name: str) -> Node:
        """Half of the bodies have a shape in which guards meet recursion and ambiguity."""
        if self.rng.random() < 0.5:
            return self.alternatives(1)
        rule, x, y, z = Ref(name), self.item(), self.item(), self.literal()
        return self.rng.choice(
            (
                Alt((Seq((rule, x)), y)),
                Alt((Seq((x, rule)), y)),
                Alt((Seq((x, rule, y)), self.terminal())),
                Alt((Seq((rule, rule)), y)),
                Alt((Seq((rule, z, rule)), y)),
                Seq((x, Repeat(Seq((z, y)), 0, None))),
                Alt((Seq((z, Repeat(rule, 0, None), self.literal())), self.terminal())),
            )
        )
