"""The GBNF dialect: what each piece of notation means, by the texts it lets through."""

from __future__ import annotations

import glrsampler as glr
import pytest
from oracle.earley import Recogniser
from oracle.gbnf import parse

# A grammar, texts that are sentences, texts that are not.
DIALECT: dict[str, tuple[str, list[str], list[str]]] = {
    "no newline at the end": ('root ::= "a"', ["a"], [""]),
    "blank lines and indented rules": ('\n\n  \n  root ::=  x \n\n\t x ::= "a"\n  ', ["a"], ["", "x"]),
    "CRLF": ('root ::= x |\r\n  "b"\r\n\r\nx ::= (\r\n"a"\r\n)\r\n', ["a", "b"], ["", "\r"]),
    "comments": ('# one "\nroot ::= "a" # two )\n# three\n  | "#" # four\n', ["a", "#"], ["", "# four"]),
    "comment in a group": ('root ::= ( # one\n "a" # two\n # three\n "b" )', ["ab"], ["a"]),
    "definition on the next line": ('root ::=\n  "a"', ["a"], [""]),
    "alternative on the next line": ('root ::= "a" |\n\n  "b"', ["a", "b"], ["", "ab"]),
    "line that begins with a bar": (
        'root ::= "a"\n\n  # or\n  | "b"\n  | "c"\nx ::= "d"',
        ["a", "b", "c"],
        ["", "d", "ab"],
    ),
    "newlines in a group": ('root ::= ("a"\n"b"\n|\n"c") "d"', ["abd", "cd"], ["ab", "d"]),
    "names": ('root ::= a-b a_b A9 9\na-b ::= "1"\na_b ::= "2"\nA9 ::= "3"\n9 ::= "4"', ["1234"], ["123"]),
    "rules in any order": ('x ::= "a"\nroot ::= x y\ny ::= "b"', ["ab"], ["a", "b"]),
    "empty literal": ('root ::= "" "a" ""', ["a"], ["", "aa"]),
    "empty alternative": ('root ::= "a" |', ["a", ""], ["b"]),
    "empty first alternative": ('root ::= | "a"', ["a", ""], ["b"]),
    "empty group": ('root ::= () "a" ( | "b")', ["a", "ab"], ["", "b"]),
    "simple escapes": (r'root ::= "\t\r\n\\\"\[\]\-"', ['\t\r\n\\"[]-'], ["trn"]),
    "numbered escapes": (r'root ::= "\x41\u0042\U00000043" "\xe9\u65E5\U0001F389"', ["ABCé日🎉"], ["ABC\xe9"]),
    "escape is a code point, not a byte": (r'root ::= "\xFF"', ["ÿ"], ["\x7f", "y"]),
    "raw newline in a literal": ('root ::= "a\nb"', ["a\nb"], ["a", "ab"]),
    "UTF-8 in literals and classes": ('root ::= "日本" [あ-ん🎉]', ["日本か", "日本🎉"], ["日本", "日本カ"]),
    "class": ("root ::= [abx-z]", list("abxyz"), ["", "c", "w", "-", "ab"]),
    "class with escapes": (r'root ::= [\]\[\\\-"\n\x41\u00e9]', list(']\\["-\nAé'), ["n", "x"]),
    "hyphen at an end of a class": ("root ::= [-a] [b-] [+--]", ["-b+", "a--", "ab,"], ["ab.", "bb+"]),
    "hyphen in a negated class": ("root ::= [^-a] [^b-]", ["ba", "ca"], ["-a", "b-", "aa"]),
    "escaped hyphen is no range": (r"root ::= [a\-c]", ["a", "-", "c"], ["b"]),
    "range with escaped ends": (r"root ::= [\x30-\x39] [\t-\r]", ["0\n", "9\t"], ["a\n", "0x"]),
    "range from one to itself": ("root ::= [a-a]", ["a"], ["b"]),
    "caret that negates and caret that does not": ("root ::= [a^] [^^]", ["^a", "a^"[:1] + "b"], ["^^", "bb"]),
    "quote and bars in a class": ('root ::= ["|()#*] "x"', ['"x', "|x", "(x", "#x", "*x"], ["x"]),
    "range over the surrogates": (r"root ::= [\uD7FF-\uE000]", ["\ud7ff", "\ue000"], ["\ud7fe", "\ue001"]),
    "dot matches a newline": ("root ::= .", ["\n", "a", "🎉"], ["", "ab"]),
    "blank before a quantifier": ('root ::= "a" * "b" {2} "c"\t?', ["bb", "aabbc"], ["b", "ab"]),
    "blanks in bounds": ('root ::= "a"{ 1 , 2 } "b"{ 2 } "c"{1 ,}', ["abbc", "aabbcc"], ["abb", "aaabbc"]),
    "no lower bound": ('root ::= "a"{,2}', ["", "aa"], ["aaa"]),
    "bounds of zero": ('root ::= "a"{0} "b"{0,0} "c"', ["c"], ["ac", "bc"]),
    "leading zeros in bounds": ('root ::= "a"{01,002}', ["a", "aa"], ["aaa"]),
    "quantifier of a quantifier": ('root ::= "a"{2}+ "b"?*', ["aa", "aaaabb"], ["a", "aaa"]),
    "quantifier binds to one item": (
        'root ::= "ab"+ x* ("c" "d")?\nx ::= "xy"',
        ["abab", "abxyxy", "abcd"],
        ["abb", "abcdcd"],
    ),
    "sequence binds tighter than alternatives": ('root ::= "a" "b" | "c"', ["ab", "c"], ["ac", "b"]),
    "things that touch": ('root::="a"x"b"[c]("d")\nx::="x"', ["axbcd"], ["abcd"]),
    "other root": ('start ::= "a" root\nroot ::= "b"', ["b"], ["ab"]),
    "unused rules may be endless": ('root ::= "a"\nx ::= x', ["a"], [""]),
}


@pytest.mark.parametrize("name", DIALECT)
def test_notation(name: str) -> None:
    text, accepted, rejected = DIALECT[name]
    grammar, oracle = glr.Grammar.from_gbnf(text), Recogniser(parse(text))
    for sentence in accepted:
        assert grammar.matches(sentence.encode()), sentence
        assert oracle.matches(sentence.encode()), sentence
    for sentence in rejected:
        assert not grammar.matches(sentence.encode("utf-8", "surrogatepass")), sentence
        assert not oracle.matches(sentence.encode("utf-8", "surrogatepass")), sentence


def test_root_is_chosen_by_name() -> None:
    text = 'start ::= "a" root\nroot ::= "b"'
    assert glr.Grammar.from_gbnf(text, root="start").matches(b"ab")
    assert glr.Grammar.from_gbnf(text).fingerprint != glr.Grammar.from_gbnf(text, root="start").fingerprint
    assert glr.Grammar.from_gbnf(text).fingerprint == glr.Grammar.from_gbnf(text).fingerprint


# Ids: a 0, b 1, ab 2, <think> 3 (control), <x> 4 (text), end 5.
VOCABULARY = glr.Vocabulary.from_tokens([b"a", b"b", b"ab", b"", b"<x>", b""], [5], {3: "<think>", 5: "<end>"})


@pytest.mark.parametrize(
    ("body", "accepted", "rejected"),
    [
        ("<think>", [[3]], [[], [0], [3, 3]]),
        ("<[3]>", [[3]], [[0]]),
        ('"a" <[2]> "b"', [[0, 2, 1]], [[2, 2, 1], [0, 0, 1, 1], [0, 2, 2]]),
        ("<[1]>", [[1]], [[0], [2]]),
        ('"a" <[1]>', [[0, 1]], [[2]]),
        ("<x>", [[4]], [[0]]),
        ('"<x>"', [[4]], [[3]]),
        ("!<[0]>", [[1], [2], [4]], [[0], [3], [5]]),
        ("!<think>+", [[0], [1, 4, 2]], [[3], [0, 3]]),
        ("(!<x> | <think>)*", [[], [0, 3, 2]], [[4], [0, 4]]),
        ('"a" !<[1]> "b"', [[0, 0, 1], [0, 2, 1]], [[0, 1, 1], [2, 1], [2, 0, 1]]),
        ("<think>? .*", [[], [3], [3, 0, 4], [2]], [[0, 3], [3, 3]]),
        (".*", [[0, 1, 2, 4]], [[3], [0, 3]]),
        ('<[0]> "b" | "ab"', [[0, 1], [2]], [[0], [1]]),
    ],
)
def test_token_literals(body: str, accepted: list[list[int]], rejected: list[list[int]]) -> None:
    constraint = glr.Grammar.from_gbnf(f"root ::= {body}").compile(VOCABULARY)
    for tokens, wanted in [(t, True) for t in accepted] + [(t, False) for t in rejected]:
        matcher = constraint.matcher()
        taken = all(matcher.allows(token) and matcher.try_commit(token) for token in tokens)
        assert (taken and matcher.accepting) == wanted, tokens


@pytest.mark.parametrize("body", ["<nosuch>", "<[6]>", "<[99999999]>", "!<nosuch>", '"a" <nosuch>? "b"'])
def test_token_literal_that_is_no_token(body: str) -> None:
    grammar = glr.Grammar.from_gbnf(f'x ::= "a"\nroot ::= x {body}')
    with pytest.raises(glr.GrammarError) as caught:
        grammar.compile(VOCABULARY)
    assert caught.value.line == 2
    assert body.split("<")[1].split(">")[0] in str(caught.value)
