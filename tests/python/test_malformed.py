"""Bad grammars end in an error that helps, and no text crashes or hangs the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import glrsampler as glr
import pytest
from oracle.gbnf import GbnfError, parse

TESTS = Path(__file__).parents[1]
WORKERS = 5
MUTATIONS = 1000

# A grammar; line and column of the error; a piece of the message; a piece of the hint.
BAD: dict[str, tuple[str, int, int, str, str]] = {
    "undefined rule": ('root ::= greeting ", " nam\ngreeting ::= "hi"\nname ::= "x"', 1, 24, "nam", "name"),
    "undefined rule, nothing like it": ('root ::= "a" | zzzzzz\nb ::= "b"', 1, 16, "zzzzzz", "root"),
    "undefined in an unused rule": ('root ::= "a"\nb ::= c', 2, 7, "c", ""),
    "duplicate rule": ('root ::= "a"\nb ::= "b"\nroot ::= "c"', 3, 1, "root", "line 1, column 1"),
    "unterminated literal": ('root ::= "a" | "b', 1, 16, '"', ""),
    "unterminated class": ("root ::= x\nx ::= [a-z", 2, 7, "[", "]"),
    "unterminated group": ('root ::= ("a" | ("b")', 1, 22, ")", "line 1, column 10"),
    "closing bracket too many": ('root ::= "a")', 1, 13, ")", "("),
    "empty class": ("root ::= []", 1, 10, "[]", "\\]"),
    "empty negated class": ("root ::= [^]", 1, 10, "[^]", ""),
    "class of nothing": (r"root ::= [^\x00-\U0010FFFF]", 1, 10, "every code point", ""),
    "inverted range": ("root ::= [a-cz-b]", 1, 14, "z-b", ""),
    "inverted bounds": ('root ::= "a"{3,1}', 1, 13, "{3,1}", "{1,3}"),
    "bounds of nothing": ('root ::= "a"{}', 1, 14, "}", "{3}"),
    "bounds of a comma": ('root ::= "a"{,}', 1, 13, "{,}", "*"),
    "bounds not closed": ('root ::= "a"{3', 1, 15, "}", ""),
    "bounds with a letter": ('root ::= "a"{x}', 1, 14, "x", "{3}"),
    "bad escape": (r'root ::= "hello \! there"', 1, 17, "\\!", ""),
    "bad escape in a class": (r"root ::= [a\d]", 1, 12, "\\d", ""),
    "escape with too few digits": (r'root ::= "\x4"', 1, 11, "\\x4", "2"),
    "escape with a wrong digit": (r'root ::= "\u00g0"', 1, 11, "\\u00", "4"),
    "code point too large": (r'root ::= "\U00110000"', 1, 11, "110000", "10FFFF"),
    "surrogate": (r'root ::= "\uD800"', 1, 11, "surrogate", ""),
    "no root": ('main ::= "a"', 1, 1, "root", "main"),
    "empty text": ("", 1, 1, "no rule", "root ::="),
    "only comments": ("# nothing\n\n", 3, 1, "no rule", "root ::="),
    "wrong sign": ('root :== "yes"', 1, 6, "::=", "::="),
    "single equals": ('root = "yes"', 1, 6, "::=", "::="),
    "sign on the next line": ('root\n::= "yes"', 1, 5, "::=", ""),
    "quantifier of nothing": ('root ::= * "a"', 1, 10, "*", '"*"'),
    "quantifier of nothing in a group": ('root ::= "a" (+)', 1, 15, "+", '"+"'),
    "quantifier after a bar": ('root ::= "a" | ?', 1, 16, "?", ""),
    "single quotes": ("root ::= 'yes'", 1, 10, "'", '"'),
    "not closed token literal": ('root ::= <think "a"', 1, 10, "<", ">"),
    "token literal without a number": ("root ::= <[x]>", 1, 12, "x", "<[1000]>"),
    "exclamation mark alone": ('root ::= ! "a"', 1, 10, "!", ""),
    "stray character": ('root ::= "a" & "b"', 1, 14, "&", ""),
    "line that is no rule": ('root ::= "a"\n"b"', 2, 1, "", ""),
    "no sentence": ('root ::= "a" root', 1, 1, "root", "ends"),
    "no sentence through two rules": ('root ::= x | "a" y\nx ::= y\ny ::= x "b"', 1, 1, "root", "x"),
    "code points count, not bytes": ('root ::= "日本語" nosuch', 1, 16, "nosuch", ""),
    "columns after a tab": ("root ::=\t\tnosuch", 1, 11, "nosuch", ""),
    "lines of a CRLF file": ('root ::= "a" |\r\n  nosuch\r\n', 2, 3, "nosuch", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_error_names_the_place_and_the_way_out(name: str) -> None:
    text, line, column, said, hint = BAD[name]
    with pytest.raises(glr.GrammarError) as caught:
        glr.Grammar.from_gbnf(text)
    error = caught.value
    assert (error.line, error.column) == (line, column), str(error)
    assert said in str(error)
    assert hint in error.hint, str(error)
    if "no sentence" not in name:
        with pytest.raises(GbnfError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"type": "object"}', "JSON"),
        ("./grammars/json.gbnf", "file"),
        ('start: "a" | "b"', "Lark"),
    ],
)
def test_other_formats_are_recognised(text: str, said: str) -> None:
    with pytest.raises(glr.GrammarError) as caught:
        glr.Grammar.from_gbnf(text)
    assert said in str(caught.value) + caught.value.hint


def test_text_that_python_cannot_encode() -> None:
    # pybind11 cannot convert it to a C++ string and says so as a TypeError.
    with pytest.raises((glr.GrammarError, UnicodeEncodeError, TypeError)):
        glr.Grammar.from_gbnf('root ::= "\ud800"')


def run(code: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """In a process of its own: a crash, a hang or a gigabyte too much is its end only."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
    return subprocess.run(
        [sys.executable, "-c", limit + code[0], *code[1:]], capture_output=True, text=True, timeout=timeout, cwd=TESTS
    )


@pytest.mark.parametrize("worker", range(WORKERS))
def test_mutations(worker: int) -> None:
    each = MUTATIONS // WORKERS
    code = "import sys; sys.path.insert(0, '.'); from oracle.mutations import main; main(*map(int, sys.argv[1:]))"
    try:
        done = run([code, str(worker * each), str((worker + 1) * each)], timeout=120)
    except subprocess.TimeoutExpired as hang:
        output = hang.stdout.decode() if isinstance(hang.stdout, bytes) else hang.stdout or ""
        pytest.fail(f"hangs at seed {output.split()[-1:]}")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"exit status {done.returncode} at {lines[-1:]}\n{done.stderr[-3000:]}"
    assert "'works'" in lines[-1], "the mutations are too rough: no grammar survived"


# A grammar as an expression, and then what must hold of `g`, if it was taken.
BIG: dict[str, tuple[str, str]] = {
    "nested parentheses": (
        "'root ::= ' + '(' * 60000 + '\"a\"' + ')' * 60000",
        "g.matches(b'a') and not g.matches(b'')",
    ),
    "nested quantified groups": (
        "'root ::= ' + '(' * 20000 + '\"a\"' + ')*' * 20000",
        "g.matches(b'') and g.matches(b'aaa') and not g.matches(b'b')",
    ),
    "nested groups that are never closed": ("'root ::= ' + '(' * 30000 + '\"a\"'", "False"),
    "chain of rules": (
        "'root ::= r0\\n' + ''.join(f'r{i} ::= r{i + 1}\\n' for i in range(20000)) + 'r20000 ::= \"z\"'",
        "g.matches(b'z') and not g.matches(b'zz')",
    ),
    "chain of rules with brackets": (
        "'root ::= r0\\n' + ''.join(f'r{i} ::= \"(\" r{i + 1} \")\"\\n' for i in range(5000)) + 'r5000 ::= \"z\"'",
        "g.matches(b'(' * 5000 + b'z' + b')' * 5000) and not g.matches(b'(z)')",
    ),
    "left recursive chain": (
        "'root ::= r0\\n' + ''.join(f'r{i} ::= r{i + 1} \"x\" | \"y\"\\n' for i in range(3000))"
        " + 'r3000 ::= root | \"z\"'",
        "g.matches(b'y') and g.matches(b'yx') and not g.matches(b'x')",
    ),
    "large exact bound": ("'root ::= \"a\"{1000000}'", "not g.matches(b'aaa')"),
    "large bounds in large bounds": ("'root ::= ((\"a\"{1000}){1000}){1000}'", "not g.matches(b'aaa')"),
    "large bound of what can be empty": (
        '\'root ::= ("a"? "b"?){0,100000} "c"\'',
        "g.matches(b'abac') and not g.matches(b'ab')",
    ),
    "many alternatives": (
        "'root ::= ' + ' | '.join(f'\"w{i}x\"' for i in range(100000))",
        "g.matches(b'w99999x') and not g.matches(b'w100000x') and not g.matches(b'w1')",
    ),
    "many rules": (
        "'root ::= ' + ' | '.join(f'r{i}' for i in range(20000))"
        " + ''.join(f'\\nr{i} ::= \"{i}.\"' for i in range(20000))",
        "g.matches(b'19999.') and not g.matches(b'20000.')",
    ),
    "doubling rules": (
        "'root ::= r0\\n' + ''.join(f'r{i} ::= r{i + 1} r{i + 1}\\n' for i in range(60)) + 'r60 ::= \"a\"'",
        "not g.matches(b'aaa')",
    ),
    "doubling rules that can be empty": (
        "'root ::= r0\\n' + ''.join(f'r{i} ::= r{i + 1} r{i + 1}\\n' for i in range(60)) + 'r60 ::= \"a\"?'",
        "g.matches(b'') and g.matches(b'aaa') and not g.matches(b'b')",
    ),
    "doubling alternatives": (
        "'root ::= r0\\n' + ''.join(f'r{i} ::= r{i + 1} | \"x\" r{i + 1}\\n' for i in range(60)) + 'r60 ::= \"a\"'",
        "g.matches(b'xxxa') and g.matches(b'x' * 60 + b'a') and not g.matches(b'x' * 61 + b'a')",
    ),
    "long literal": ("'root ::= \"' + 'ab' * 500000 + '\"'", "not g.matches(b'ab')"),
    "long class": ("'root ::= [' + ''.join(map(chr, range(0x4E00, 0x9E00, 2))) + ']'", "g.matches('一'.encode())"),
    "long name": ("'root ::= ' + 'n' * 1000000 + '\\n' + 'n' * 1000000 + ' ::= \"a\"'", "g.matches(b'a')"),
    "long line of an error": ("'root ::= ' + '\"a\" ' * 200000 + 'nosuch'", "False"),
    "every counter in the middle": (
        "'root ::= [ab]* \"a\" [ab]{500}'",
        "g.matches(b'a' * 501) and not g.matches(b'b' * 501)",
    ),
}

WORKER = """
import sys
import glrsampler as glr
try:
    g = glr.Grammar.from_gbnf({grammar})
    c = g.compile(glr.Vocabulary.from_tokens([b"a", b"b", b"(", b"aa", b"(("], end_tokens=[5]))
    m = c.matcher()
    for _ in range(4):
        allowed = m.allowed_tokens()
        if not len(allowed) or int(allowed[0]) == 5: break
        m.commit(int(allowed[0]))
    assert {holds}, "wrong answer"
    print("taken")
except (glr.GrammarError, glr.BudgetError) as error:
    assert len(str(error)) < 5000, len(str(error))
    print("refused:", error)
"""


@pytest.mark.parametrize("name", BIG)
def test_big_grammars(name: str) -> None:
    grammar, holds = BIG[name]
    try:
        done = run([WORKER.format(grammar=grammar, holds=holds)], timeout=20)
    except subprocess.TimeoutExpired:
        pytest.fail("hangs")
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-2000:]}"
    assert done.stdout.startswith(("taken", "refused")), done.stdout
    if holds == "False":
        assert done.stdout.startswith("refused"), done.stdout


def test_deep_texts() -> None:
    """A long and deep text, not a deep grammar."""
    code = """
import glrsampler as glr
g = glr.Grammar.from_gbnf('root ::= "(" root ")" | "a" root | ""')
c = g.compile(glr.Vocabulary.from_tokens([b"(", b")", b"((((((((", b"a"], end_tokens=[4]))
m = c.matcher()
for _ in range(50000): m.commit(2)
m.mask(); n = m.fork(); m.commit_bytes(b")" * 400000)
assert m.accepting and not m.allows(1) and not n.accepting
n.rollback(50000); assert n.accepting
assert g.matches(b"(" * 200000 + b")" * 200000) and not g.matches(b"(" * 200000 + b")" * 199999)
del m, n, c, g
print("taken")
"""
    done = run([code], timeout=60)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-2000:]}"


@pytest.mark.parametrize(
    "data", [b"\xf7\xbf\xbf\xbf", b"a\xf5\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xff", b"\xf4\x8f\xbf"]
)
def test_prompts_that_are_no_unicode(data: bytes, model_path: Path) -> None:
    """llama.cpp's tokenizer ends the process at a code point beyond Unicode."""
    code = [
        "import glrsampler as glr",
        "from glrsampler.decoding import tokenizer_of",
        "from glrsampler.generation import _prompt_tokens",
        f"llm = glr.Llama(model_path={str(model_path)!r}, vocab_only=True, verbose=False)",
        f"print(len(tokenizer_of(llm)({data!r})), len(_prompt_tokens(llm, {data!r})))",
    ]
    done = run(["\n".join(code)], timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    assert all(int(count) > 0 for count in done.stdout.split())


@pytest.mark.parametrize("operator", ["", "|"])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("part", ['"a"', '"b"?', "[ab]*"])
def test_groups_nested_deep_are_one_list(operator: str, left: bool, part: str) -> None:
    """Built as a list in a list for each group, they took space and time of the square of their number."""
    depth = 20_000
    groups = f"({part} {operator} " * depth + part + ")" * depth
    if left:
        groups = "(" * depth + part + f" {operator} {part})" * depth
    grammar = glr.Grammar.from_gbnf(f"root ::= {groups}")
    text = b"a" * (depth + 1) if part == '"a"' and not operator else b"b" if "b" in part else b"a"
    assert grammar.matches(text)
    assert not grammar.matches(b"c")
