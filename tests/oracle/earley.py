"""An independent recogniser: Earley's algorithm over bytes and whole tokens, exact for every grammar.

The text of a run is a sequence of tokens. A text token (not empty, not control, not end-of-generation)
is consumed as its bytes, or as a whole by a token literal; every other token only by a token literal
that names it. So the input is a graph: an edge for each byte, and one for each token that spans its
bytes. A token literal stands at a token boundary because only there an edge of its kind begins.

An Earley set is an object, and an item's origin is a reference to a set instead of an index. A set is
never changed once it is built, so any number of continuations can be tried from one set, and forking
costs nothing. An item is (rule, rest, origin): `rest` is what is still to come of the rule's body, a
linked list of syntax nodes. A counted repetition is taken apart as it is met (x{2,5} is x x{1,4}), so
bounds are exact however large, and nothing is expanded beforehand.

Two facts make it correct and short:
 - Rules and alternatives that derive no text at all are pruned first, so a set that has an item is a
   prefix of a sentence (`viable`).
 - A nullable rule is stepped over when it is predicted (Aycock and Horspool, "Practical Earley
   parsing", 2002), so a completion never has to look into the set being built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oracle.gbnf import Alt, Bytes, Class, Ids, Literal, Node, Ref, Repeat, Seq, Token


@dataclass(frozen=True)
class ModelToken:
    """A token of a vocabulary as the recogniser sees it."""

    id: int
    data: bytes = b""
    name: str = ""
    special: bool = False  # control or end-of-generation: never consumed as bytes

    @property
    def is_text(self) -> bool:
        return bool(self.data) and not self.special


class NoSentence(ValueError):
    """The grammar derives no text at all."""


Term = Bytes | Ids
Item = tuple[str, int, "EarleySet"]
START = "$start"  # not a name that a grammar can have


@dataclass(eq=False)
class EarleySet:
    accepting: bool = False
    scans: list[tuple[Term, Item]] = field(default_factory=list)
    waiting: dict[str, list[Item]] = field(default_factory=dict)
    viable: bool = False

    def next_bytes(self) -> frozenset[int]:
        """The bytes that keep the text a prefix of a sentence."""
        return frozenset().union(*(term.members for term, _ in self.scans if isinstance(term, Bytes)))

    def next_literals(self) -> frozenset[int]:
        """The tokens that a token literal admits here."""
        return frozenset().union(*(term.members for term, _ in self.scans if isinstance(term, Ids)))


class Recogniser:
    """A grammar (the rules of `gbnf.parse`) with the vocabulary its token literals speak about."""

    def __init__(self, rules: Mapping[str, Node], root: str = "root", vocabulary: Sequence[ModelToken] = ()) -> None:
        self.vocabulary = vocabulary
        self.rests: list[tuple[Node, int] | None] = [None]  # 0 is the empty rest
        self.rest_ids: dict[tuple[int, int], int] = {}
        self.repeats: dict[tuple[int, int, int | None], Repeat] = {}
        self.steps: dict[int, tuple[bool, list[tuple[Term | str, int]]]] = {}
        lowered = {name: self.lower(body) for name, body in rules.items()}
        lowered[START] = Ref(root)
        self.rules = prune(lowered)
        if START not in self.rules:
            raise NoSentence(root)
        self.nullable = nullable_rules(self.rules)
        self.bodies = {name: self.cons(body, 0) for name, body in self.rules.items()}
        start = EarleySet()
        self.initial = self.build([(START, self.bodies[START], start)], start)

    # --- the public part -----------------------------------------------------------------------

    def advance_byte(self, here: EarleySet, byte: int) -> EarleySet:
        return self.build(self.scan(here, Bytes, byte))

    def advance(self, here: EarleySet, token: ModelToken) -> EarleySet:
        """The set after a whole token, `here` being a token boundary."""
        kernel = self.scan(here, Ids, token.id)
        if token.is_text:
            for byte in token.data[:-1]:
                here = self.advance_byte(here, byte)
            kernel += self.scan(here, Bytes, token.data[-1])
        return self.build(kernel)

    def read(self, data: bytes) -> EarleySet:
        here = self.initial
        for byte in data:
            here = self.advance_byte(here, byte)
            if not here.viable:
                break
        return here

    def matches(self, data: bytes) -> bool:
        return self.read(data).accepting

    def viable(self, data: bytes) -> bool:
        return self.read(data).viable

    def allowed(self, here: EarleySet) -> set[int]:
        """The tokens that keep the text a prefix of a sentence; end-of-generation tokens are not among them."""
        after: dict[bytes, EarleySet] = {b"": here}  # of proper prefixes of tokens
        literals = here.next_literals()
        found = set()
        for token in self.vocabulary:
            if token.id in literals:
                found.add(token.id)
            elif token.is_text:
                for size in range(1, len(token.data)):
                    prefix = token.data[:size]
                    if prefix not in after:
                        after[prefix] = self.advance_byte(after[prefix[:-1]], prefix[-1])
                    if not after[prefix].viable:
                        break
                else:
                    if token.data[-1] in after[token.data[:-1]].next_bytes():
                        found.add(token.id)
        return found

    # --- Earley --------------------------------------------------------------------------------

    def scan(self, here: EarleySet, kind: type[Term], symbol: int) -> list[Item]:
        return [item for term, item in here.scans if isinstance(term, kind) and symbol in term.members]

    def build(self, kernel: Iterable[Item], here: EarleySet | None = None) -> EarleySet:
        here = here or EarleySet()
        todo = list(dict.fromkeys(kernel))
        seen = set(todo)

        def add(item: Item) -> None:
            if item not in seen:
                seen.add(item)
                todo.append(item)

        while todo:
            rule, rest, origin = todo.pop()
            here.viable = True
            done, steps = self.step(rest)
            if done and rule == START:
                here.accepting = True
            elif done and origin is not here:
                for waiter in origin.waiting.get(rule, ()):
                    add(waiter)
            for symbol, after in steps:
                if not isinstance(symbol, str):
                    here.scans.append((symbol, (rule, after, origin)))
                    continue
                here.waiting.setdefault(symbol, []).append((rule, after, origin))
                add((symbol, self.bodies[symbol], here))
                if symbol in self.nullable:
                    add((rule, after, origin))
        return here

    # --- rests: what is still to come of a body ------------------------------------------------

    def cons(self, node: Node, tail: int) -> int:
        key = (id(node), tail)
        if key not in self.rest_ids:
            self.rest_ids[key] = len(self.rests)
            self.rests.append((node, tail))
        return self.rest_ids[key]

    def repeat(self, item: Node, low: int, high: int | None) -> Repeat:
        key = (id(item), low, high)
        if key not in self.repeats:
            self.repeats[key] = Repeat(item, low, high)
        return self.repeats[key]

    def step(self, rest: int) -> tuple[bool, list[tuple[Term | str, int]]]:
        """Whether `rest` can be empty, and the symbols it can begin with, each with the rest after it.

        A rule's name stands for the rule, and counts as not empty.
        """
        if rest in self.steps:
            return self.steps[rest]
        done = False
        found: list[tuple[Term | str, int]] = []
        todo, seen = [rest], {rest}
        while todo:
            cell = self.rests[todo.pop()]
            if cell is None:
                done = True
                continue
            node, tail = cell
            following = []
            match node:
                case Bytes() | Ids():
                    found.append((node, tail))
                case Ref(name):
                    found.append((name, tail))
                case Seq(items):
                    for item in reversed(items):
                        tail = self.cons(item, tail)
                    following.append(tail)
                case Alt(options):
                    following += [self.cons(option, tail) for option in options]
                case Repeat(item, low, high):
                    if low == 0:
                        following.append(tail)
                    if high is None or high > 0:
                        fewer = self.repeat(item, max(low - 1, 0), None if high is None else high - 1)
                        following.append(self.cons(item, self.cons(fewer, tail)))
            for r in following:
                if r not in seen:
                    seen.add(r)
                    todo.append(r)
        self.steps[rest] = done, found
        return done, found

    # --- lowering ------------------------------------------------------------------------------

    def lower(self, node: Node) -> Node:
        match node:
            case Literal(data):
                return Seq(tuple(Bytes(frozenset((b,))) for b in data))
            case Class(ranges):
                return Alt(
                    tuple(
                        Seq(tuple(Bytes(frozenset(range(low, high + 1))) for low, high in sequence))
                        for first, last in ranges
                        for sequence in utf8_sequences(first, last)
                    )
                )
            case Seq(items):
                return Seq(tuple(self.lower(item) for item in items))
            case Alt(options):
                return Alt(tuple(self.lower(option) for option in options))
            case Repeat(item, low, high):
                return self.repeat(self.lower(item), low, high)
            case Token():
                return self.token_ids(node)
            case _:
                return node

    def token_ids(self, node: Token) -> Ids:
        if not self.vocabulary:
            return Ids(frozenset((-1,)))  # derives something, but nothing that is made of bytes
        if node.id is not None:
            named = {token.id for token in self.vocabulary if token.id == node.id}
        else:
            assert node.text is not None
            named = {token.id for token in self.vocabulary if token.name == node.text} or {
                token.id for token in self.vocabulary if token.is_text and token.data == node.text.encode()
            }
        if len(named) != 1:
            raise ValueError(f"{node} is not one token")
        if node.negated:
            return Ids(frozenset(t.id for t in self.vocabulary if t.is_text) - named)
        return Ids(frozenset(named))


def prune(rules: Mapping[str, Node]) -> dict[str, Node]:
    """The same language without what derives no text: such rules and alternatives are gone."""
    productive: set[str] = set()

    def pruned(node: Node) -> Node | None:
        match node:
            case Bytes(members) | Ids(members):
                return node if members else None
            case Ref(name):
                return node if name in productive else None
            case Seq(items):
                kept = tuple(item for i in items if (item := pruned(i)) is not None)
                return Seq(kept) if len(kept) == len(items) else None
            case Alt(options):
                left = tuple(option for o in options if (option := pruned(o)) is not None)
                return Alt(left) if left else None
            case Repeat(item, low, high):
                inner = pruned(item) if high != 0 else None
                if inner is None:
                    return Seq(()) if low == 0 else None
                return Repeat(inner, low, high)
        raise AssertionError(node)

    while True:
        found = {name for name, body in rules.items() if pruned(body) is not None}
        if found == productive:
            break
        productive = found
    return {name: kept for name, body in rules.items() if (kept := pruned(body)) is not None}


def nullable_rules(rules: Mapping[str, Node]) -> set[str]:
    nullable: set[str] = set()

    def empty(node: Node) -> bool:
        match node:
            case Ref(name):
                return name in nullable
            case Seq(items):
                return all(map(empty, items))
            case Alt(options):
                return any(map(empty, options))
            case Repeat(item, low, _):
                return low == 0 or empty(item)
        return False

    while True:
        found = {name for name, body in rules.items() if empty(body)}
        if found == nullable:
            return nullable
        nullable = found


def utf8_sequences(first: int, last: int) -> list[list[tuple[int, int]]]:
    """The code points first..last as sequences of byte ranges; surrogates, which UTF-8 has not, are left out."""
    for low, high in ((0x0000, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)):
        if first <= high and last >= low and not low <= first <= last <= high:
            inside = utf8_sequences(max(first, low), min(last, high))
            before = utf8_sequences(first, low - 1) if first < low else []
            return before + inside + (utf8_sequences(high + 1, last) if last > high else [])
    if first > last or 0xD800 <= first <= last <= 0xDFFF:
        return []
    start, end = chr(first).encode(), chr(last).encode()
    for size in range(1, len(start)):  # split until the last `size` bytes run over their whole range
        block = 1 << (6 * size)
        if first // block != last // block:
            if first % block:
                edge = first // block * block + block
                return utf8_sequences(first, edge - 1) + utf8_sequences(edge, last)
            if last % block != block - 1:
                edge = last // block * block
                return utf8_sequences(first, edge - 1) + utf8_sequences(edge, last)
    return [list(zip(start, end, strict=True))]


def matches(rules: Mapping[str, Node], data: bytes) -> bool:
    """Whether `data` is a sentence of the grammar."""
    return Recogniser(rules).matches(data)


def viable(rules: Mapping[str, Node], data: bytes) -> bool:
    """Whether `data` is a prefix of a sentence."""
    return Recogniser(rules).viable(data)
