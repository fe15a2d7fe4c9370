"""Grammars put together in Python: the nodes that the front ends make, and operators on them.

>>> number = regex(r"-?[0-9]+")
>>> total = rule("total")
>>> total.define(number | "(" + total + repeat(" + " + total, 1) + ")")
>>> total.grammar().matches(b"(1 + (2 + 3))")
True

``a + b`` is a sequence, ``a | b`` a choice, ``a & b`` what both match, ``~a`` every text (well-formed UTF-8) that ``a``
is not; text stands for itself, a `Grammar` for its sentences. The operands of ``&`` and ``~`` are regular: rules in
them may refer to themselves at their ends only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ._core import Composer, Constraint, Grammar, Limits, Vocabulary

#: What may stand wherever a node is wanted.
Part: TypeAlias = "Node | Grammar | str | bytes"


class Node:
    """A piece of a grammar; the functions of this module make them. Immutable, but for a rule not defined yet."""

    __slots__ = ("emit", "parts")

    def __init__(self, parts: Sequence[Node], emit: Callable[[Composer, list[int]], int]) -> None:
        self.parts = tuple(parts)
        self.emit = emit

    def __add__(self, other: Part) -> Node:
        return sequence(self, other)

    def __radd__(self, other: Part) -> Node:
        return sequence(other, self)

    def __or__(self, other: Part) -> Node:
        return choice(self, other)

    def __ror__(self, other: Part) -> Node:
        return choice(other, self)

    def __and__(self, other: Part) -> Node:
        return intersection(self, other)

    def __rand__(self, other: Part) -> Node:
        return intersection(other, self)

    def __invert__(self) -> Node:
        return intersection(any_text(), _complement(self))

    def grammar(self, name: str = "root") -> Grammar:
        """The grammar whose sentences are the texts of this node. `name` is that of the rule for it, in messages.

        ValueError when a rule in it is not defined.
        """
        root = self if isinstance(self, RuleNode) else rule(name, self)
        composer = Composer()
        return composer.build(_Writer(composer).rule(root))

    def compile(
        self,
        vocabulary: Vocabulary,
        mode: Literal["lazy", "eager", "background"] = "lazy",
        limits: Limits | None = None,
    ) -> Constraint:
        """`grammar().compile(...)`."""
        return self.grammar().compile(vocabulary, mode, Limits() if limits is None else limits)


class RuleNode(Node):
    """The text of a rule, which may refer to itself."""

    __slots__ = ("body", "name")

    def __init__(self, name: str) -> None:
        super().__init__((), lambda composer, ids: 0)  # written by _Writer
        self.name = name
        self.body: Node | None = None

    def define(self, body: Part) -> RuleNode:
        """What the rule matches. Once: ValueError the second time."""
        if self.body is not None:
            raise ValueError(f"rule '{self.name}' is defined already")
        self.body = _node(body)
        return self


class TokenNode(Node):
    """A whole model token."""

    __slots__ = ()


def literal(text: str | bytes) -> Node:
    """Exactly this text."""
    return Node((), lambda composer, _: composer.literal(text))


def regex(pattern: str, flags: str = "") -> Node:
    """The texts that a regular expression matches as a whole; see `Grammar.from_regex`."""
    return _include(Grammar.from_regex(pattern, flags))


def json_schema(schema: Any, **options: Any) -> Node:
    """The JSON texts whose value meets a schema; the options are those of `Grammar.from_json_schema`."""
    return _include(Grammar.from_json_schema(schema, **options))


def special_token(name: str | int, *, negated: bool = False) -> Node:
    """One whole model token: by its text (`"<think>"`) or its id. Negated: any text token but that one."""
    return TokenNode((), lambda composer, _: composer.token(name, negated))


def any_text() -> Node:
    """Every text, the empty one too: well-formed UTF-8."""
    return repeat(Node((), lambda composer, _: composer.code_points([(0, 0x10FFFF)])))


def substring_of(text: str) -> Node:
    """Any piece of the text, the empty one too; code points are not cut. As large as the text, not as its pieces."""
    chunks = list(text)
    return Node((), lambda composer, _: composer.substrings(chunks))


def sequence(*parts: Part) -> Node:
    """One after the other; none at all is the empty text."""
    return Node([_node(p) for p in parts], lambda composer, ids: composer.sequence(ids))


def choice(*parts: Part) -> Node:
    """Any one of these; ValueError without any."""
    if not parts:
        raise ValueError("a choice of nothing matches no text")
    return Node([_node(p) for p in parts], lambda composer, ids: composer.choice(ids))


def intersection(*parts: Part) -> Node:
    """The texts that all of these match; regular operands only."""
    return Node([_node(p) for p in parts], lambda composer, ids: composer.intersection(ids))


def repeat(part: Part, min: int = 0, max: int | None = None) -> Node:
    """`min` to `max` times; without `max` without end."""
    if min < 0 or (max is not None and max < min):
        raise ValueError(f"a repetition of at least {min} and at most {max} times")
    return Node([_node(part)], lambda composer, ids: composer.repeat(ids[0], min, max))


def rule(name: str, body: Part | None = None) -> RuleNode:
    """A named rule. Without a body it is defined later, and may stand in its own definition."""
    made = RuleNode(name)
    return made if body is None else made.define(body)


def triggered(
    payloads: Mapping[str | bytes | Node, Part],
    *,
    before: Part | None = None,
    again: bool = True,
    required: bool = False,
) -> Node:
    """Free text until one of the triggers has been written, then what that trigger asks for.

    payloads: by trigger (text, a regular node such as `regex(...)`, or a `special_token`), what must follow it.
    before: what the text up to the first trigger must match, itself excluded; free text when None.
    again: the text is free after a payload, and triggers count again; else it ends there.
    required: the text may not end before a first payload.

    A trigger is met as soon as it has been written, at the byte: what the same model token holds after it is the
    beginning of the payload. Where two triggers end at the same byte either may have been meant. ValueError without a
    trigger.
    """
    if not payloads:
        raise ValueError("no trigger: name at least one")
    pairs = [(_node(trigger), payload) for trigger, payload in payloads.items()]
    for trigger, _ in pairs:
        if not isinstance(trigger, TokenNode) and trigger.grammar().matches(b""):
            raise ValueError("a trigger may be empty: it would be met everywhere")
    tokens = [pair for pair in pairs if isinstance(pair[0], TokenNode)]
    texts = [pair for pair in pairs if not isinstance(pair[0], TokenNode)]
    anything = _complement(_nothing())
    met = choice(*(trigger for trigger, _ in texts)) if texts else _nothing()
    free = any_text() & _complement(anything + met + anything)
    # The first place where one has been written: no more than that.
    at_once = _complement(anything + met + _complement(literal(b"")))

    def until(lead: Node) -> Node:
        return choice(
            *(intersection(lead + trigger, at_once) + payload for trigger, payload in texts),
            *(intersection(lead, free) + trigger + payload for trigger, payload in tokens),
        )

    lead = any_text() if before is None else any_text() & before
    rest = repeat(until(any_text())) + free if again else sequence()
    met_once = until(lead) + rest
    return met_once if required else met_once | (lead & free)


def _node(part: Part) -> Node:
    if isinstance(part, Node):
        return part
    if isinstance(part, Grammar):
        return _include(part)
    if isinstance(part, str | bytes):
        return literal(part)
    raise TypeError(f"a node, a Grammar, text or bytes, not {type(part).__name__}")


def _include(grammar: Grammar) -> Node:
    return Node((), lambda composer, _: composer.include(grammar))


def _nothing() -> Node:
    return Node((), lambda composer, ids: composer.choice(ids))


def _complement(part: Part) -> Node:
    """Among all byte strings."""
    return Node([_node(part)], lambda composer, ids: composer.complement(ids[0]))


class _Writer:
    """Writes nodes into a composer, each once, however deep they are."""

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._written: dict[int, int] = {}
        self._users: dict[int, int] = {}  # nodes with parts, by how many nodes they are parts of
        self._rules: dict[int, int] = {}
        self._undefined: list[RuleNode] = []

    def rule(self, root: RuleNode) -> int:
        """The number of the rule, with all that it reaches."""
        self._refer(root)
        while self._undefined:
            rule = self._undefined.pop()
            if rule.body is None:
                raise ValueError(f"rule '{rule.name}' is not defined: call its define()")
            self._composer.define(self._rules[id(rule)], self._node(rule.body))
        return self._rules[id(root)]

    def _refer(self, rule: RuleNode) -> int:
        if id(rule) not in self._rules:
            self._rules[id(rule)] = self._composer.declare(rule.name)
            self._undefined.append(rule)
        return self._composer.rule_ref(self._rules[id(rule)])

    def _count_users(self, root: Node) -> None:
        waiting = [root]
        while waiting:
            for part in waiting.pop().parts:
                if not part.parts:
                    continue
                if id(part) not in self._users:
                    waiting.append(part)
                self._users[id(part)] = self._users.get(id(part), 0) + 1

    def _node(self, root: Node) -> int:
        self._count_users(root)
        path = [root]
        while path:
            node = path[-1]
            missing = [part for part in node.parts if id(part) not in self._written]
            if missing and id(node) not in self._written:
                path += missing
                continue
            path.pop()
            if id(node) not in self._written:
                self._written[id(node)] = self._write(node)
        return self._written[id(root)]

    def _write(self, node: Node) -> int:
        if isinstance(node, RuleNode):
            return self._refer(node)
        written = node.emit(self._composer, [self._written[id(part)] for part in node.parts])
        if self._users.get(id(node), 0) < 2:
            return written
        # Used twice it is a rule, or doubling 30 times would write it out a billion times.
        rule = self._composer.declare("shared")
        self._composer.define(rule, written)
        return self._composer.rule_ref(rule)
