"""Grammars with terminals that match longest, recognised in two independent ways.

A terminal's match w[a:b] is cancelled when w[a:c] is a match of it too, c > b. So of a whole text only the longest
match from each start counts: `matches` says just that, over all cuts of one text, and is the definition.

`Reader` also answers for beginnings of texts: which go on to some sentence. It is Earley's algorithm over bytes whose
items carry what they still have to keep off: the states of the automata of terminals whose match has ended and could
have been longer. An item counts when it can be finished; what can be finished to what is a least fixed point over
pairs of a symbol and a set of such states.

Slow: for alphabets of a few letters, terminals of a few states, and texts of a few bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oracle.earley import ModelToken
from oracle.gbnf import Alt, Bytes, Literal, Node, Ref, Repeat, Seq, Terminal

Rules = Mapping[str, Node]

# --- the definition ----------------------------------------------------------------------------------


def matches(rules: Rules, text: bytes, root: str = "start") -> bool:
    """Whether the text is a sentence: where every node can end from every start, up to the least fixed point."""
    known: dict[tuple[int, int], set[int]] = {}
    busy: set[tuple[int, int]] = set()

    def ends(node: Node, start: int) -> set[int]:
        key = (id(node), start)
        found = set(known.get(key, ()))
        if key in busy:
            return found
        busy.add(key)
        match node:
            case Literal(data):
                if text.startswith(data, start):
                    found.add(start + len(data))
            case Bytes(members):
                if start < len(text) and text[start] in members:
                    found.add(start + 1)
            case Ref(name):
                found |= ends(rules[name], start)
            case Seq(items):
                found |= through(items, {start})
            case Alt(options):
                found |= {e for option in options for e in ends(option, start)}
            case Repeat(item, low, high):
                places, reached, count = through([item] * low, {start}), set[int](), low
                while places - reached and (high is None or count <= high):
                    reached |= places
                    places = through([item], places)
                    count += 1
                found |= reached
            case Terminal(item):
                every = ends(item, start)
                found |= {max(every)} | (every & {start}) if every else set()
        busy.discard(key)
        known[key] = found
        return found

    def through(items: Iterable[Node], places: set[int]) -> set[int]:
        for item in items:
            places = {e for p in places for e in ends(item, p)}
        return places

    while True:
        before = sum(map(len, known.values()))
        if len(text) in ends(rules[root], 0):
            return True
        if before == sum(map(len, known.values())):
            return False


# --- terminals as automata ---------------------------------------------------------------------------


class Automaton:
    """Of one terminal: its states are sets of rests of the syntax tree."""

    def __init__(self, item: Node, alphabet: bytes) -> None:
        self.alphabet = alphabet
        self.states: dict[frozenset[tuple[Node, ...]], int] = {}
        self.next: list[dict[int, int]] = []
        self.accepting: list[bool] = []
        self.initial = self.state(frozenset({(item,)}))
        self.accepting_initially = self.accepting[self.initial]
        self.more = [self.reaches(q) for q in range(len(self.next))]

    def state(self, rests: frozenset[tuple[Node, ...]]) -> int:
        if rests in self.states:
            return self.states[rests]
        number = self.states[rests] = len(self.next)
        heads, done = closure(rests)
        self.next.append({})
        self.accepting.append(done)
        for byte in self.alphabet:
            after = frozenset(rest for members, rest in heads if byte in members)
            if after:
                self.next[number][byte] = self.state(after)
        return number

    def reaches(self, start: int) -> bool:
        """Whether a match is reached by at least one more byte."""
        todo, seen = list(self.next[start].values()), set()
        while todo:
            q = todo.pop()
            if self.accepting[q]:
                return True
            if q not in seen:
                seen.add(q)
                todo += self.next[q].values()
        return False


def closure(rests: Iterable[tuple[Node, ...]]) -> tuple[list[tuple[frozenset[int], tuple[Node, ...]]], bool]:
    """The bytes that rests can begin with, each with what follows, and whether one can be empty."""
    todo, seen, heads, done = list(rests), set(rests), [], False
    while todo:
        rest = todo.pop()
        if not rest:
            done = True
            continue
        node, tail = rest[0], rest[1:]
        options: list[tuple[Node, ...]] = []
        match node:
            case Bytes(members):
                heads.append((members, tail))
            case Literal(data):
                if data:
                    heads.append((frozenset(data[:1]), (tail_of(data), *tail)))
                else:
                    options = [tail]
            case Seq(items):
                options = [(*items, *tail)]
            case Alt(choices):
                options = [(choice, *tail) for choice in choices]
            case Repeat(item, low, high):
                if low == 0:
                    options.append(tail)
                if high is None or high > 0:
                    options.append((item, fewer(node), *tail))
            case _:
                raise AssertionError(node)
        for option in options:
            if option not in seen:
                seen.add(option)
                todo.append(option)
    return heads, done


_tails: dict[bytes, Literal] = {}
_fewer: dict[tuple[int, int, int | None], tuple[Node, Repeat]] = {}


def tail_of(data: bytes) -> Literal:
    return _tails.setdefault(data[1:], Literal(data[1:]))


def fewer(node: Repeat) -> Repeat:
    low, high = max(node.low - 1, 0), None if node.high is None else node.high - 1
    if (low, high) == (node.low, node.high):
        return node
    return _fewer.setdefault((id(node.item), low, high), (node.item, Repeat(node.item, low, high)))[1]


# --- beginnings of texts -------------------------------------------------------------------------------

Pending = frozenset[tuple[int, int]]  # (terminal, state) of matches that have ended and must not go on to another
NONE: Pending = frozenset()


@dataclass(frozen=True)
class Begun:
    """A terminal partly read."""

    terminal: int
    state: int


Rest = tuple["Node | Begun", ...]
Item = tuple[str, Pending, Rest, Pending, "Place"]  # rule, pending when it began, rest, pending now, where it began


@dataclass(eq=False)
class Place:
    """What has been read so far, and what it can be the beginning of."""

    reader: Reader
    items: set[Item] = field(default_factory=set)
    waiting: dict[tuple[str, Pending], list[Item]] = field(default_factory=dict)
    empty: dict[tuple[str, Pending], set[Pending]] = field(default_factory=dict)
    accepting: bool = False

    @property
    def viable(self) -> bool:
        return any(self.reader.finishes(item) for item in self.items)

    def next_bytes(self) -> frozenset[int]:
        return frozenset(b for b in self.reader.alphabet if self.reader.advance_byte(self, b).viable)

    def next_literals(self) -> frozenset[int]:
        return frozenset()


class Reader:
    def __init__(
        self, rules: Rules, alphabet: bytes, root: str = "start", vocabulary: Sequence[ModelToken] = ()
    ) -> None:
        self.rules, self.alphabet, self.vocabulary = rules, alphabet, vocabulary
        self.automata: list[Automaton] = []
        self.of: dict[int, int] = {}
        self.rests: dict[tuple[Rest, Pending], set[Pending]] = {}
        start = Place(self)
        self.initial = self.build({("", NONE, (Ref(root),), NONE, start)}, start)

    # --- what is asked

    def advance_byte(self, place: Place, byte: int) -> Place:
        return self.build({after for item in place.items for after in self.scan(item, byte)})

    def read(self, place: Place, data: bytes) -> Place:
        for byte in data:
            place = self.advance_byte(place, byte)
        return place

    def advance(self, place: Place, token: ModelToken) -> Place:
        return self.read(place, token.data)

    def allowed(self, place: Place) -> set[int]:
        return {t.id for t in self.vocabulary if t.is_text and self.advance(place, t).viable}

    # --- Earley

    def build(self, kernel: set[Item], here: Place | None = None) -> Place:
        here = here or Place(self)
        todo = list(kernel)

        def add(item: Item) -> None:
            if item not in here.items:
                here.items.add(item)
                todo.append(item)

        here.items |= kernel
        while todo:
            name, began, rest, now, origin = todo.pop()
            if not rest:
                if name == "":
                    here.accepting = True
                    continue
                if origin is here:
                    here.empty.setdefault((name, began), set()).add(now)
                for parent, p_began, p_rest, _, p_origin in list(origin.waiting.get((name, began), ())):
                    add((parent, p_began, p_rest, now, p_origin))
                continue
            head, tail = rest[0], rest[1:]
            match head:
                case Ref(ref):
                    here.waiting.setdefault((ref, now), []).append((name, began, tail, now, origin))
                    add((ref, now, (self.rules[ref],), now, here))
                    for after in list(here.empty.get((ref, now), ())):
                        add((name, began, tail, after, origin))
                case Bytes() | Begun():
                    pass
                case _:
                    for option in self.expanded(head):
                        add((name, began, (*option, *tail), now, origin))
        return here

    def expanded(self, node: Node) -> list[Rest]:
        match node:
            case Literal(data):
                return [(one_byte(data[0]), tail_of(data))] if data else [()]
            case Seq(items):
                return [tuple(items)]
            case Alt(options):
                return [(option,) for option in options]
            case Repeat(item, low, high):
                some: list[Rest] = [()] if low == 0 else []
                return some + ([(item, fewer(node))] if high is None or high > 0 else [])
            case Terminal():
                a = self.automaton(node)
                empty: list[Rest] = [()] if self.automata[a].accepting_initially else []
                return [*empty, (Begun(a, self.automata[a].initial),)]
        raise AssertionError(node)

    def automaton(self, node: Terminal) -> int:
        if id(node) not in self.of:
            self.of[id(node)] = len(self.automata)
            self.automata.append(Automaton(node.item, self.alphabet))
        return self.of[id(node)]

    def kept_off(self, now: Pending, byte: int) -> Pending | None:
        """What is pending after a byte; None when a longer match is complete."""
        after = set()
        for t, q in now:
            q2 = self.automata[t].next[q].get(byte)
            if q2 is None:
                continue
            if self.automata[t].accepting[q2]:
                return None
            if self.automata[t].more[q2]:
                after.add((t, q2))
        return frozenset(after)

    def ways(self, head: Node | Begun, now: Pending, byte: int) -> list[tuple[Rest, Pending]]:
        """The ways in which a byte is read by what is at the head."""
        if not isinstance(head, Bytes | Begun) or (after := self.kept_off(now, byte)) is None:
            return []
        if isinstance(head, Bytes):
            return [((), after)] if byte in head.members else []
        a = self.automata[head.terminal]
        q = a.next[head.state].get(byte)
        if q is None:
            return []
        ways: list[tuple[Rest, Pending]] = []
        if a.more[q]:
            ways.append(((Begun(head.terminal, q),), after))
        if a.accepting[q]:
            ways.append(((), after | ({(head.terminal, q)} if a.more[q] else NONE)))
        return ways

    def scan(self, item: Item, byte: int) -> list[Item]:
        name, began, rest, now, origin = item
        if not rest:
            return []
        ways = self.ways(rest[0], now, byte)
        return [(name, began, (*left, *rest[1:]), after, origin) for left, after in ways]

    # --- what can be finished

    def finishes(self, item: Item) -> bool:
        """Whether the item, and then what waits for its rule, and so on, can come to an end."""
        name, began, rest, now, origin = item
        todo = [(origin, name, began, after) for after in self.ends(rest, now)]
        seen = set()
        while todo:
            origin, name, began, now = step = todo.pop()
            if name == "":
                return True
            if step in seen:
                continue
            seen.add(step)
            for parent, p_began, p_rest, _, p_origin in origin.waiting.get((name, began), ()):
                todo += [(p_origin, parent, p_began, after) for after in self.ends(p_rest, now)]
        return False

    def ends(self, rest: Rest, now: Pending) -> set[Pending]:
        key = (rest, now)
        if key not in self.rests:
            self.settle(key)
        return self.rests[key]

    def settle(self, wanted: tuple[Rest, Pending]) -> None:
        """The least fixed point over all that `wanted` depends on."""
        table: dict[tuple[Rest, Pending], set[Pending]] = {wanted: set()}

        def get(rest: Rest, now: Pending) -> set[Pending]:
            if (rest, now) in self.rests:
                return self.rests[rest, now]
            return table.setdefault((rest, now), set())

        size = (0, 0)
        while size != (now_known := (len(table), sum(map(len, table.values())))):
            size = now_known
            for rest, now in list(table):
                found = table[rest, now]
                if not rest:
                    found.add(now)
                elif len(rest) > 1:
                    for middle in list(get(rest[:1], now)):
                        found |= get(rest[1:], middle)
                elif isinstance(head := rest[0], Ref):
                    found |= get((self.rules[head.name],), now)
                elif isinstance(head, Bytes | Begun):
                    for byte in self.alphabet:
                        for left, after in self.ways(head, now, byte):
                            found |= get(left, after)
                else:
                    for option in self.expanded(head):
                        found |= get(option, now)
        self.rests.update(table)


_bytes: dict[int, Bytes] = {}


def one_byte(byte: int) -> Bytes:
    return _bytes.setdefault(byte, Bytes(frozenset((byte,))))
