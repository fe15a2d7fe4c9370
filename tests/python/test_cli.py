"""The command line as a program: streams, exit statuses, messages."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "win32":
    import pty

GRAMMAR = 'root ::= "{\\"n\\": " [0-9]{1,3} "}"\n'


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "glrsampler.cli", *arguments], input=stdin, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def grammar(tmp_path: Path) -> str:
    path = tmp_path / "number.gbnf"
    path.write_text(GRAMMAR)
    return str(path)


def test_generate_with_the_embedded_model(grammar: str, tmp_path: Path) -> None:
    record = tmp_path / "evidence.json"
    arguments = ("generate", "--grammar", grammar, "--prompt", "A number: ", "--seed", "3", "--evidence", str(record))
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert 0 <= json.loads(done.stdout)["n"] <= 999
    assert "complete" in done.stderr
    assert "seed 3" in done.stderr
    assert json.loads(record.read_text())["status"] == "complete"
    assert run(*arguments, "--quiet").stdout == done.stdout
    assert run(*arguments, "--quiet").stderr == ""


def test_generate_from_standard_input(grammar: str) -> None:
    done = run("generate", "--grammar", "-", "--prompt", "x", "--quiet", stdin='root ::= "yes" | "no"')
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("yes", "no")
    done = run("generate", "--grammar", grammar, "--prompt-file", "-", "--quiet", "--chat", stdin="A number")
    assert done.returncode == 0, done.stderr


def test_generate_cut_short_is_status_1(grammar: str) -> None:
    done = run("generate", "--grammar", grammar, "--max-tokens", "2", "--prompt", "x")
    assert done.returncode == 1
    assert '{"n": 12}'.startswith(done.stdout[:4])
    assert "length" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "--grammar", "missing.gbnf"), "missing.gbnf"),
        (("generate", "--grammar", "x.txt"), "ending"),
        (("generate", "--grammar", "-", "--model", "none.gguf"), "none.gguf"),
        (("generate", "--grammar", "-", "--top-p", "2"), "top_p"),
        (("generate", "--grammar", "-", "--prompt-file", "-"), "standard input"),
        (("generate",), "--grammar"),
        (("check", "missing.gbnf"), "missing.gbnf"),
        (("explain", "--grammar", "-", "--text", "a", "--model", "none.gguf"), "none.gguf"),
        (("bench", "--grammar", "-", "--model", "none.gguf"), "none.gguf"),
        (("bench", "--grammar", "-", "--text", "-"), "standard input"),
        (("bench", "--grammar", "-", "--passes", "1"), "--passes"),
        (("chat", "--tools", "shell"), "calculator"),
        (("chat", "--tools", "calculator", "--tool-choice", "shell"), "tool_choice"),
        (("chat", "--tools", "calculator", "--format", "xml"), "hermes"),
        (("chat", "--model", "none.gguf"), "none.gguf"),
    ],
)
def test_bad_input_is_status_2(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments, stdin='root ::= "a"')
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_check(grammar: str, tmp_path: Path) -> None:
    done = run("check", grammar)
    assert (done.returncode, done.stdout) == (0, "")
    text = tmp_path / "text"
    for data, status, message in (
        (b'{"n": 12}', 0, "matches"),
        (b'{"n": 12', 1, "ends too early"),
        (b'{"n":\n 12}', 1, "line 1, column 6"),
        (b"\xff", 1, "line 1, column 1"),
    ):
        text.write_bytes(data)
        done = run("check", grammar, "--text", str(text))
        assert (done.returncode, done.stdout) == (status, "")
        assert message in done.stderr


def test_check_prints_the_diagnostic() -> None:
    done = run("check", "-", stdin='root ::= "a" itm\nitem ::= "b"\n')
    assert done.returncode == 2
    assert "itm" in done.stderr
    assert "item" in done.stderr
    assert ":1:" in done.stderr


def test_explain(grammar: str) -> None:
    done = run("explain", "--grammar", grammar, "--text", '{"n": 1')
    assert done.returncode == 0
    assert "complete: no" in done.stdout
    assert "11 allowed" in done.stdout
    assert '"}"' in done.stdout
    done = run("explain", "--grammar", grammar, "--text", "")
    assert 'forced: "{\\"n\\": "' in done.stdout
    done = run("explain", "--grammar", grammar, "--text", '{"n": x')
    assert done.returncode == 1
    assert "column 7" in done.stderr
    assert "10 allowed" in done.stdout


def test_explain_at_a_complete_text(tmp_path: Path) -> None:
    done = run("explain", "--grammar", "-", "--text", "ab", stdin='root ::= "a" tail\ntail ::= [b-d]* "!"?\n')
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "complete: yes",
        "bytes: '!', 'b'-'d'",
        'terminal: "!" in rule tail, line 2',
        "terminal: [b-d] in rule tail, line 2",
        "terminal: the end of the text",
        'tokens: 5 allowed: "!" "b" "c" "d" <end>',
    ]


def test_explain_in_tokens_of_a_model(grammar: str, model_path: Path) -> None:
    arguments = ("explain", "--grammar", grammar, "--model", str(model_path), "--tokens", "1", "--text")
    done = run(*arguments, '{"')
    assert done.returncode == 0, done.stderr
    assert 'forced: "n\\": "' in done.stdout
    assert 'tokens: 1 allowed: "n"\n' in done.stdout
    assert 'tokens: 10 allowed: "0" ...\n' in run(*arguments, '{"n": ').stdout


def test_bench_along_a_text(grammar: str, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text('{"n": 12}')
    arguments = ("bench", "--grammar", grammar, "--text", str(text), "--passes", "2")
    for mode in ("lazy", "eager", "background"):
        done = run(*arguments, "--mode", mode, "--json")
        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)
        assert figures["mode"] == mode
        assert 1 <= figures["tokens"] <= 9
        for name in ("first_pass_us", "warm_us"):
            assert set(figures[name]) == {"mask", "commit", "mask + commit"}
            for values in figures[name].values():
                assert 0 < values["p50"] <= values["p99.9"] <= values["max"]
    done = run(*arguments)
    assert done.returncode == 0
    assert "warm: mask + commit" in done.stdout
    text.write_text('{"n": x}')
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 1, column 7" in done.stderr


def test_bench_along_random_texts(grammar: str) -> None:
    done = run("bench", "--grammar", grammar, "--tokens", "40", "--passes", "2", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["tokens"] == 40
    assert figures["texts"] > 1
    done = run("bench", "--grammar", "-", "--passes", "2", stdin='root ::= ""')
    assert done.returncode == 2
    assert "only the empty text" in done.stderr


def test_version_and_help() -> None:
    assert run("--version").stdout.startswith("glrsampler ")
    assert "generate" in run("--help").stdout


def test_importing_needs_no_llama_cpp() -> None:
    code = "import sys, glrsampler; assert 'llama_cpp' not in sys.modules; print(glrsampler.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_chat_with_the_calculator() -> None:
    """One question, by the embedded model: the call on standard error, the answer alone on standard output."""
    arguments = ("chat", "--tools", "calculator", "--max-tokens", "130", "--context", "1024", "--threads", "1")
    done = run(*arguments, "--prompt", "What is 12 * 34?")
    assert "[executed] calculator {" in done.stderr
    assert "[executed]" not in done.stdout
    assert done.returncode == ("[length:" in done.stderr)
    # Questions by lines, and an end without one.
    again = run(*arguments, stdin="What is 12 * 34?\n\n")
    assert again.stdout == done.stdout
    assert run(*arguments, stdin="").stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
@pytest.mark.parametrize(("answer", "ran"), [("yes", True), ("y", False), ("", False), ("no", False)])
def test_chat_asks_at_the_terminal(answer: str, ran: bool) -> None:
    """With --ask reading calls wait for a yes too; it is typed at the terminal, whatever standard input is."""
    code = (
        "from glrsampler.cli import _confirm\n"
        "from glrsampler.tools import Call, Envelope\n"
        "call = Call('transfer', '1', '0', '{\"to\":\"\\\\u001b[2J\\\\u202eevil\"}')\n"
        "print('ran:', _confirm(Envelope(call, 'r', 's', 'pending')))\n"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", code])
    shown = b""
    while b"to run it: " not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, answer.encode() + b"\n")
    with contextlib.suppress(OSError):  # the terminal has gone with the child
        while data := os.read(terminal, 1000):
            shown += data
    os.waitpid(child, 0)
    os.close(terminal)
    assert f"ran: {ran}" in shown.decode()
    # What the model wrote cannot move the cursor or turn the text around.
    assert b"\x1b" not in shown
    assert "\u202e" not in shown.decode()
    assert b"evil" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="a console cannot be given up there")
def test_chat_without_a_terminal_is_no() -> None:
    code = "from glrsampler.cli import _confirm; from glrsampler.tools import Call, Envelope; import os; os.setsid()"
    ask = "print(_confirm(Envelope(Call('t', '1', '0', '{}'), 'r', 's', 'pending')))"
    command = [sys.executable, "-c", f"{code}; {ask}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, input="yes\n")
    assert done.stdout == "False\n"


def test_what_the_tools_need_is_named_when_it_is_missing() -> None:
    """And nothing else of the library needs it."""
    hide = "import sys; sys.modules['rfc8785'] = None; from glrsampler import *; from glrsampler.cli import main; "
    command = [sys.executable, "-c", hide + "sys.exit(main(['chat']))"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "pip install 'glrsampler[tools]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_json_schemas(tmp_path: Path) -> None:
    schema = tmp_path / "answer.schema.json"
    schema.write_text('{"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "format": "odd"}')
    done = run(
        "generate", "--json-schema", str(schema), "--prompt", "JSON: ", "--seed", "1", "--max-tokens", "60", "--quiet"
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.startswith("{")
    text = tmp_path / "text.json"
    text.write_text('{"n": 2}')
    done = run("check", "--json-schema", str(schema), "--text", str(text))
    assert (done.returncode, done.stderr) == (0, f"{text}: matches\n")
    done = run("check", "--json-schema", str(schema))
    assert done.returncode == 0
    assert "'odd' is no format" in done.stderr
    assert done.stderr.endswith(f"{schema}: a JSON Schema\n")
    done = run("explain", "--json-schema", "-", "--text", '{"a', stdin='{"properties": {"ab": {}}, "required": ["ab"]}')
    assert done.returncode == 0, done.stderr
    assert "tokens:" in done.stdout
    done = run("check", "--json-schema", "-", stdin='{"type": "strng"}')
    assert done.returncode == 2
    assert "did you mean 'string'" in done.stderr
    assert run("explain", "--json-schema", "x", "--grammar", "y", "--text", "").returncode == 2


def test_the_order_of_properties(tmp_path: Path) -> None:
    schema = tmp_path / "pair.json"
    schema.write_text('{"properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "additionalProperties": false}')
    text = tmp_path / "text.json"
    text.write_text('{"b": null, "a": null}')
    arguments = ("check", "--json-schema", str(schema), "--text", str(text))
    hint = "only the order of the properties is wrong: --property-order any accepts this\n"
    done = run(*arguments)
    assert done.returncode == 1
    assert done.stderr.endswith(hint)
    done = run(*arguments, "--property-order", "any")
    assert (done.returncode, done.stderr) == (0, f"{text}: matches\n")
    text.write_text('{"b": null, "a": 1}')
    assert hint not in run(*arguments).stderr
    done = run("explain", "--json-schema", str(schema), "--text", '{"b":null,"a')
    assert done.returncode == 1
    assert done.stderr.endswith(hint)
    assert hint not in run("explain", "--json-schema", str(schema), "--text", '{"b":null,"c').stderr
    done = run("check", "-", "--property-order", "any", stdin='root ::= "a"')
    assert done.returncode == 2
    assert "--property-order goes with --json-schema" in done.stderr
