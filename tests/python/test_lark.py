"""Lark grammars: against the `lark` package as a recogniser, masks against every token, files and imports."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from random import Random

import glrsampler as glr
import numpy as np
import pytest
from lark import Lark
from lark.exceptions import LarkError, UnexpectedInput

TESTS = Path(__file__).parents[1]

CALCULATOR = r"""
?start: sum
      | NAME "=" sum -> assign
?sum: product
    | sum "+" product -> add
    | sum "-" product -> sub
?product: atom
        | product "*" atom
        | product "/" atom
?atom: NUMBER
     | "-" atom
     | NAME
     | "(" sum ")"
%import common.CNAME -> NAME
%import common.NUMBER
%import common.WS_INLINE
%ignore WS_INLINE
"""

CONFIGURATION = r"""
start: (_NL | section)*
section: "[" NAME "]" _NL item*
item: NAME "=" value? _NL
value: ESCAPED_STRING | SIGNED_NUMBER | list{value} | "on"i | "off"i
list{x}: "(" [x ("," x)*] ")"
NAME: LETTER (LETTER | "_" | "0".."9")~0..8
LETTER: "a".."z" | "A".."Z"
_NL: (/\r?\n/ COMMENT?)+
COMMENT: ";" /[^\n]*/
%import common (ESCAPED_STRING, SIGNED_NUMBER)
%ignore /[ \t]+/
"""

QUERY = r"""
start: query (";" query)* [";"]
query: "select"i ["distinct"i] columns "from"i NAME ["where"i condition] -> select
columns: "*" | column ("," column)*
column: NAME ["as"i NAME]
?condition: condition "or"i test | test
test: NAME OPERATOR (NUMBER | STRING) | "not"i test | "(" condition ")"
OPERATOR: "=" | "<>" | "<=" | ">=" | "<" | ">"
STRING: "'" /[^'\n]/* "'"
NAME: /[a-z_]\w*/
NUMBER: /[0-9]+(\.[0-9]+)?/
%import common.WS
%ignore WS
COMMENT: "/*" /(.|\n)*?/ "*/"
%ignore COMMENT
"""

GRAMMARS = {
    "calculator": (CALCULATOR, ["x = 1 + 2*(3-y)/4", "-(-1.5e3)", " a ", "1 - -1"]),
    "configuration": (
        CONFIGURATION,
        ['\n[main]\nname = "a\\"b" \nlevels=(1, -2.5,(on, OFF))\n; remark\nempty =\n', "", "[a]\n[b]\n"],
    ),
    "query": (
        QUERY,
        [
            "select * from t where not (a <= 1.5 or b <> 'x y') ;",
            "SELECT DISTINCT a AS b, c /* all * of / them */\nFROM t; select d from u",
        ],
    ),
}

BYTES = [bytes([byte]) for byte in range(256)]
WORDS = [b"ab", b"  ", b'"a', b'")', b"1.5", b"= ", b"\n[", b"select ", b"*/", b" from", b"))", b"*(", b"on,", b"x1"]
END = len(BYTES) + len(WORDS)
VOCABULARY = glr.Vocabulary.from_tokens([*BYTES, *WORDS, b""], end_tokens=[END], special_tokens={END: "</s>"})


def edited(text: str, rng: Random, alphabet: str) -> str:
    """A text with one to three characters changed."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(3)
        piece = rng.choice(alphabet)
        text = text[:at] + (piece if kind != 1 else "") + text[at + (kind != 0) :]
    return text


#: Ours, and the lexer of lark's Earley parser that finds the same readings.
LEXERS = {"longest": "dynamic", "all": "dynamic_complete"}


@pytest.mark.parametrize("lexing", LEXERS)
@pytest.mark.parametrize("name", GRAMMARS)
def test_languages_of_the_lark_package(name: str, lexing: str) -> None:
    """Every reading that lark's Earley parser finds, and no other."""
    text, sentences = GRAMMARS[name]
    reference = Lark(text, parser="earley", lexer=LEXERS[lexing])
    grammar = glr.Grammar.from_lark(text, "start", lexing)
    rng = Random(name)
    verdicts = {True: 0, False: 0}
    for number in range(120):
        data = sentences[number] if number < len(sentences) else rng.choice(sentences)
        if number >= len(sentences):
            data = edited(data, rng, "".join(sentences))
        try:
            reference.parse(data)
            wanted = True
        except UnexpectedInput:
            wanted = False
        assert grammar.matches(data.encode()) == wanted, data
        verdicts[wanted] += 1
    assert min(verdicts.values()) >= 10, verdicts


def random_grammar(rng: Random) -> str:
    """A few rules and terminals over a, b and blanks.

    No alternatives in terminals: lark's lexer takes the first that matches, not the longest.
    """
    terminals = ["A", "B", "C"][: rng.randint(1, 3)]

    def pattern(depth: int) -> str:
        kind = rng.randrange(8) if depth < 3 else 0
        if kind < 3:
            return f'"{rng.choice(("a", "b", "ab", "aa", "ba"))}"'
        if kind == 3:
            choices = ("a+", "[ab]", "b*a", "ab?", "a*?b", "[ab]+?b", "a(?!b)", "(?!a)[ab]", "[ab]*?ab", "a??b")
            return f"/{rng.choice(choices)}/"
        if kind == 4:
            return '"a".."b"'
        if kind == 5:
            return '"A"i'
        if kind == 6:
            return f"({pattern(depth + 1)} {pattern(depth + 1)})"
        return f"({pattern(depth + 1)}){rng.choice(('?', '+', '~1..2'))}"

    def body(depth: int) -> str:
        kind = rng.randrange(10) if depth < 3 else 0
        if kind < 4:
            return rng.choice([*terminals, "x", "y"])
        if kind == 4:
            return pattern(2)
        if kind == 5:
            return f"({body(depth + 1)} | {body(depth + 1)})"
        if kind == 6:
            return f"[{body(depth + 1)}]"
        if kind == 7:
            return f"({body(depth + 1)}){rng.choice(('?', '*', '+', '~2', '~0..2'))}"
        return f"{body(depth + 1)} {body(depth + 1)}"

    lines = [f"start: {body(0)}"]
    for rule in ("x", "y"):
        lines.append(f"{rng.choice(('', '?', '!'))}{rule}{rng.choice(('', '.2'))}: {body(0)}")
        if rng.random() < 0.6:
            lines.append(f"  | {body(0)} -> other")
    lines += [f"{terminal}{rng.choice(('', '.-1'))}: {pattern(0)}" for terminal in terminals]
    if rng.random() < 0.5:
        lines.append('%ignore " "')
    return "\n".join(lines)


TEXTS = ["".join(letters) for n in range(5) for letters in itertools.product("ab ", repeat=n)]


@pytest.mark.parametrize("lexing", LEXERS)
def test_random_grammars_against_the_lark_package(lexing: str) -> None:
    compared = {True: 0, False: 0}
    for seed in range(150):
        rng = Random(seed)
        text = random_grammar(rng)
        try:
            reference = Lark(text, parser="earley", lexer=LEXERS[lexing])
        except LarkError:  # a terminal that may be empty, two alternatives that are the same: it refuses more
            continue
        try:
            grammar = glr.Grammar.from_lark(text, "start", lexing)
        except glr.GrammarError as error:
            if "no finite text" not in str(error):
                raise
            continue
        for data in rng.sample(TEXTS, 40):
            try:
                reference.parse(data)
                wanted = True
            except UnexpectedInput:
                wanted = False
            assert grammar.matches(data.encode()) == wanted, f"{text}\n{data!r}"
            compared[wanted] += 1
    assert min(compared.values()) > 100, compared


def test_lexing_modes() -> None:
    """A grammar, a text, and whether it is a sentence with "longest" and with "all"."""
    for text, data, longest, every in [
        ("start: A A\nA: /a+/", "aa", False, True),
        ('start: N N\nN: /[0-9]+/\n%ignore " "', "12", False, True),
        ('start: N N\nN: /[0-9]+/\n%ignore " "', "1 2", True, True),
        ("start: W D\nW: /[a-z0-9]+/\nD: /[0-9]/", "ab1", False, True),
        ('start: A P "+" A\nP: "+" | "++"\nA: "a"', "a++a", False, True),
        ('start: A P "+" A\nP: "+" | "++"\nA: "a"', "a+++a", True, True),
        ('start: "let" NAME\nNAME: /[a-z]+/', "letx", True, True),
        ('start: "if" NAME | NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "', "if=y", True, True),
        ('start: x x\nx: "a" | "aa"', "aaa", True, True),
        ('start: X X\nX: "a" | "aa"', "aaa", True, True),
        ('start: X "a"\nX: "a" | "aa"', "aa", False, True),
        ('start: S S\nS: /".*?"/', '"a""b"', True, True),
        ('start: S\nS: /".*?"/', '"a"b"', False, False),
        ('start: "a" B\nB: /b?/', "a", True, True),
        ("start: L+\nL: /[^;]*;/", "a;b;", True, True),
        ('start: "ab" "c"\n%ignore / +/', "ab  c", True, True),
    ]:
        for lexing, wanted in (("longest", longest), ("all", every)):
            try:
                grammar = glr.Grammar.from_lark(text, "start", lexing)
                constraint = grammar.compile(VOCABULARY)
            except glr.GrammarError:  # no text at all
                assert not wanted, text
                continue
            assert grammar.matches(data.encode()) == wanted, (text, data, lexing)
            matcher = constraint.matcher()
            taken = all(matcher.try_commit(byte) for byte in data.encode())
            assert (taken and matcher.accepting) == wanted, (text, data, lexing)


@pytest.mark.parametrize("lexing", ["longest", "all"])
@pytest.mark.parametrize("name", GRAMMARS)
def test_sentences_are_accepted_through_masks(name: str, lexing: str) -> None:
    text, sentences = GRAMMARS[name]
    constraint = glr.Grammar.from_lark(text, "start", lexing).compile(VOCABULARY)
    pieces = sorted(((token, data) for token, data in enumerate([*BYTES, *WORDS])), key=lambda p: -len(p[1]))
    for sentence in sentences:
        matcher, rest = constraint.matcher(), sentence.encode()
        while rest:
            token, data = next((t, d) for t, d in pieces if rest.startswith(d))
            assert matcher.allows(token), (sentence, rest)
            matcher.commit(token)
            rest = rest[len(data) :]
        assert matcher.accepting


@pytest.mark.parametrize("lexing", ["longest", "all"])
@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_what_can_be_committed(name: str, lexing: str) -> None:
    constraint = glr.Grammar.from_lark(GRAMMARS[name][0], "start", lexing).compile(VOCABULARY)
    rng = Random(name)
    for _ in range(4):
        matcher = constraint.matcher()
        for _ in range(15):
            allowed = {int(token) for token in matcher.allowed_tokens()}
            assert allowed == {token for token in range(len(VOCABULARY)) if matcher.fork().try_commit(token)}
            assert allowed, "a text that cannot be finished"
            text = sorted(allowed - {END})
            if not text:
                break
            matcher.commit(rng.choice(text))


def test_modes_and_saved_constraints_are_the_same(tmp_path: Path) -> None:
    grammar = glr.Grammar.from_lark(CONFIGURATION)
    lazy, eager = grammar.compile(VOCABULARY), grammar.compile(VOCABULARY, "eager")
    eager.save(tmp_path / "configuration.glr")
    loaded = glr.Constraint.load(tmp_path / "configuration.glr", VOCABULARY)
    matchers = [constraint.matcher() for constraint in (lazy, eager, loaded)]
    for byte in GRAMMARS["configuration"][1][0].encode():
        first, *others = [matcher.mask() for matcher in matchers]
        assert all(np.array_equal(first, other) for other in others)
        for matcher in matchers:
            matcher.commit(byte)
    assert all(matcher.accepting for matcher in matchers)


def test_options() -> None:
    assert glr.Grammar.from_lark('other: "a"', "other").matches(b"a")
    assert glr.Grammar.from_lark('other: "a"', start="other", lexing="all").matches(b"a")
    with pytest.raises(ValueError, match="'longest', 'contextual', 'all'"):
        glr.Grammar.from_lark('start: "a"', lexing="shortest")
    assert glr.Grammar.from_lark('start: "a"', lexing="contextual").matches(b"a")
    with pytest.raises(glr.GrammarError, match=r"x\.lark:1:8: undefined rule 'b'"):
        glr.Grammar.from_lark("start: b", file="x.lark")
    with pytest.raises(glr.SchemaError) as caught:
        glr.Grammar.from_lark('start: "a"\n  | %json {"type": "integr"}')
    assert (caught.value.line, caught.value.column, caught.value.pointer) == (2, 5, "#/type")


def test_files_and_imports(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "main.lark").write_text("start: item+\n%import .parts.words.item\n%ignore /[ ]/\n")
    (tmp_path / "parts" / "words.lark").write_text("item: WORD | %json {}\n%import .letters (WORD)\n")
    (tmp_path / "parts" / "letters.lark").write_text('WORD: ("a".."z")+\n')
    for grammar in (
        glr.Grammar.from_file(str(tmp_path / "main.lark")),
        glr.Grammar.from_lark("start: item+\n%import .parts.words.item\n%ignore / /", folder=tmp_path),
        glr.Grammar.from_lark("start: item+\n%import parts.words.item\n%ignore / /", import_paths=[tmp_path]),
        glr.Grammar.from_lark(
            "start: item+\n%import .words.item\n%ignore / /", "start", "longest", [tmp_path / "parts"]
        ),
    ):
        assert grammar.matches(b'ab {"a": [1]} c')
        assert not grammar.matches(b"AB")
    with pytest.raises(glr.GrammarError, match=r"words\.lark'"):
        glr.Grammar.from_lark("start: item\n%import .parts.words.item")


def test_command_line(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "glrsampler.cli", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    grammar, text = tmp_path / "calculator.lark", tmp_path / "text"
    grammar.write_text(CALCULATOR)
    text.write_text("1 + 2")
    assert run("check", str(grammar), "--text", str(text)).returncode == 0
    text.write_text("1 + * 2")
    refused = run("check", str(grammar), "--text", str(text))
    assert refused.returncode == 1
    grammar.write_text("start: NUMBR\nNUMBER: /[0-9]+/\n")
    broken = run("check", str(grammar))
    assert broken.returncode == 2
    assert "calculator.lark:1:8" in broken.stderr
    assert "did you mean 'NUMBER'?" in broken.stderr


MUTATIONS = """
import sys
from random import Random
sys.path.insert(0, "python")
import glrsampler as glr
from test_lark import GRAMMARS, VOCABULARY, random_grammar

PIECES = [*'"()[]{}|*+?~<>!.^-\\\\#/:%&_$ \\n', '.*?', '~2..1', '{2,}', '%ignore ', '%import common.', '-> ', 'start',
          '<[0]>', '/a/', '"a"i', 'A', 'x',
          '{"a", x}', '%json {"type": "integer"}', '\\n  | ', '(?=', '\\\\d', '"a".."z"']
outcomes = {}
for seed in range(*map(int, sys.argv[1:])):
    print(seed, flush=True)
    rng = Random(seed)
    text = rng.choice(list(GRAMMARS.values()))[0] if rng.random() < 0.6 else random_grammar(rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at, kind = rng.randrange(len(text) + 1), rng.randrange(4)
        end = at + rng.choice((1, 1, 3, 10)) * (kind != 1)
        text = text[:at] + ("" if kind == 0 else text[at:end] * 2 if kind == 2 else rng.choice(PIECES)) + text[end:]
    try:
        matcher = glr.Grammar.from_lark(text).compile(VOCABULARY).matcher()
        for _ in range(6):
            allowed = [int(t) for t in matcher.allowed_tokens()]
            assert allowed, text
            text_tokens = [t for t in allowed if t < len(VOCABULARY) - 1]
            if not text_tokens:
                break
            matcher.commit(rng.choice(text_tokens))
        outcome = "works"
    except glr.GrammarError as error:
        assert error.line >= 1 and len(str(error)) < 3000, (text, error)
        outcome = "refused"
    except glr.BudgetError:
        outcome = "over budget"
    outcomes[outcome] = outcomes.get(outcome, 0) + 1
print(outcomes)
"""


@pytest.mark.parametrize("worker", range(4))
def test_mutations(worker: int) -> None:
    """In a process of its own: a crash or a hang is its end only."""
    command = [sys.executable, "-c", MUTATIONS, str(worker * 250), str((worker + 1) * 250)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=TESTS)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"exit status {done.returncode} at {lines[-1:]}\n{done.stderr[-3000:]}"
    assert "'works'" in lines[-1]
    assert "'refused'" in lines[-1]


@pytest.mark.parametrize(
    "below",
    ['b: "y"', '\n// a comment\nb: "y"', '%ignore " "\nb: "y"', 'c{x}.2: x\nb: c{"y"}'],
)
def test_the_last_alternative_may_be_empty_at_the_end_of_its_line(below: str) -> None:
    grammar = glr.Grammar.from_lark(f'start: a b\na: "x" |\n{below}\n')
    assert grammar.matches("xy")
    assert grammar.matches("y")
    assert glr.Grammar.from_lark('start: "x" |\n  "y"\n').matches("y")
