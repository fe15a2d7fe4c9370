"""A matcher over its life: refusals, the end, going back, forks, threads, memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import glrsampler as glr
import numpy as np
import pytest

JSON = (Path(__file__).parents[2] / "grammars" / "json.gbnf").read_text(encoding="utf-8")
TEXTS = [
    b"a",
    b"b",
    b"ab",
    b"",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b":",
    b",",
    b'":',
    b"1",
    b"0",
    b" ",
    b"\n",
    b"true",
    b"\\",
]
END = len(TEXTS)
VOCABULARY = glr.Vocabulary.from_tokens([*TEXTS, b""], end_tokens=[END], special_tokens={END: "</s>"})


def constraint_of(grammar: str, vocabulary: glr.Vocabulary = VOCABULARY) -> glr.Constraint:
    return glr.Grammar.from_gbnf(grammar).compile(vocabulary)


def id_of(data: bytes) -> int:
    return TEXTS.index(data)


def random_walk(constraint: glr.Constraint, rng: Random, steps: int) -> tuple[list[int], list[list[int]]]:
    """Tokens and the masks before each of them."""
    matcher, tokens, masks = constraint.matcher(), [], []
    for _ in range(steps):
        masks.append(matcher.mask().tolist())
        allowed = [int(t) for t in matcher.allowed_tokens() if t != END]
        if not allowed:
            break
        tokens.append(rng.choice(allowed))
        matcher.commit(tokens[-1])
    return tokens, masks


class TestRefusals:
    @pytest.mark.parametrize("token", [id_of(b"b"), id_of(b"ab"), id_of(b""), END, END + 1, -1, -(2**40), 2**31, 2**64])
    def test_token_outside_the_mask(self, token: int) -> None:
        matcher = constraint_of('root ::= "a"+').matcher()
        before = matcher.mask().tolist()
        with pytest.raises((glr.RejectedToken, ValueError)):
            matcher.commit(token)
        assert not matcher.try_commit(token)
        assert not matcher.allows(token)
        assert matcher.mask().tolist() == before
        assert matcher.allowed_tokens().tolist() == [id_of(b"a")]
        matcher.commit(id_of(b"a"))

    @pytest.mark.parametrize("token", ["a", 1.0, None, b"a"])
    def test_what_is_no_token(self, token: object) -> None:
        matcher = constraint_of('root ::= "a"+').matcher()
        with pytest.raises(TypeError):
            matcher.commit(token)  # type: ignore[arg-type]  # the error is what is tested

    def test_numpy_integers_are_tokens(self) -> None:
        matcher = constraint_of('root ::= "a"+').matcher()
        for kind in (np.int32, np.int64, np.uint32):
            matcher.commit(kind(id_of(b"a")))

    def test_bytes_that_are_refused_change_nothing(self) -> None:
        matcher = constraint_of('root ::= "{" [0-9]+ "}"').matcher()
        before = matcher.mask().tolist()
        with pytest.raises(glr.RejectedToken, match="3"):
            matcher.commit_bytes(b"{12x}")
        assert matcher.mask().tolist() == before
        assert matcher.forced_bytes() == b"{"
        matcher.commit_bytes(b"{12}")
        assert matcher.accepting

    def test_an_error_of_one_matcher_is_none_of_another(self) -> None:
        constraint = constraint_of('root ::= "a" "b"')
        one, other = constraint.matcher(), constraint.matcher()
        other.commit(id_of(b"a"))
        with pytest.raises(glr.RejectedToken):
            one.commit(id_of(b"b"))
        other.commit(id_of(b"b"))
        assert other.accepting
        assert not one.accepting

    def test_rollback_beyond_the_start(self) -> None:
        matcher = constraint_of('root ::= "a"+').matcher()
        matcher.commit(id_of(b"a"))
        after_one = matcher.mask().tolist()
        with pytest.raises(IndexError):
            matcher.rollback(2)
        assert matcher.mask().tolist() == after_one
        matcher.rollback(1)
        assert not matcher.accepting
        matcher.rollback(0)

    @pytest.mark.parametrize(
        "out",
        [
            np.zeros(2, dtype=np.uint32),
            np.zeros(0, dtype=np.uint32),
            np.zeros(1, dtype=np.int64),
            np.zeros(1, dtype=np.float32),
            np.zeros((1, 1), dtype=np.uint32),
            np.zeros(2, dtype=np.uint32)[::2],
            [0],
        ],
        ids=["too long", "too short", "int64", "float32", "two dimensions", "strided but of the right length", "list"],
    )
    def test_mask_out_of_the_wrong_kind(self, out: object) -> None:
        vocabulary = glr.Vocabulary.from_tokens([b"a"] * 10, end_tokens=[10])
        matcher = constraint_of('root ::= "a"+', vocabulary).matcher()
        if isinstance(out, np.ndarray) and out.shape == (1,) and out.dtype == np.uint32:
            assert matcher.mask(out=out) is out  # one element is contiguous whatever its stride
            return
        with pytest.raises((ValueError, TypeError)):
            matcher.mask(out=out)  # type: ignore[arg-type]  # the error is what is tested

    def test_mask_out_is_written_and_returned(self) -> None:
        matcher = constraint_of('root ::= "a"+').matcher()
        out = np.full(1, 0xFFFFFFFF, dtype=np.uint32)
        assert matcher.mask(out=out) is out
        assert out.tolist() == matcher.mask().tolist() == [1 << id_of(b"a")]
        out[:] = 0
        assert matcher.mask().tolist() == [1 << id_of(b"a")]

    def test_read_only_out(self) -> None:
        out = np.zeros(1, dtype=np.uint32)
        out.flags.writeable = False
        with pytest.raises((ValueError, TypeError)):
            constraint_of('root ::= "a"+').matcher().mask(out=out)


class TestEnd:
    def test_draft_with_a_token_after_the_end(self) -> None:
        matcher = constraint_of('root ::= "{}"').matcher()
        taken = [matcher.try_commit(token) for token in (id_of(b"{"), id_of(b"}"), END, id_of(b"\n"))]
        assert taken == [True, True, True, False]
        assert matcher.finished
        with pytest.raises(glr.RejectedToken):
            matcher.commit(id_of(b"\n"))
        with pytest.raises(glr.RejectedToken):
            matcher.commit(END)
        assert matcher.finished
        assert matcher.allowed_count == 0
        assert not matcher.mask().any()
        assert matcher.forced_bytes() == b""
        matcher.rollback(1)
        assert not matcher.finished
        assert matcher.accepting
        assert matcher.allowed_tokens().tolist() == [END]
        matcher.commit(END)
        matcher.reset()
        assert not matcher.finished
        assert matcher.allowed_tokens().tolist() == [id_of(b"{")]

    def test_end_tokens_exactly_when_accepting(self) -> None:
        vocabulary = glr.Vocabulary.from_tokens([b"a", b"b", b"", b""], end_tokens=[2, 3], special_tokens={2: "<eos>"})
        matcher = constraint_of('root ::= ("a" "b")*', vocabulary).matcher()
        assert matcher.allowed_tokens().tolist() == [0, 2, 3]
        matcher.commit(0)
        assert matcher.allowed_tokens().tolist() == [1]
        for end in vocabulary.end_tokens:
            assert not matcher.try_commit(end)
        matcher.commit(1)
        for end in vocabulary.end_tokens:
            fork = matcher.fork()
            fork.commit(end)
            assert fork.finished
        assert not matcher.finished

    def test_vocabulary_without_an_end_token(self) -> None:
        vocabulary = glr.Vocabulary.from_tokens([b"a"])
        matcher = constraint_of('root ::= "a"', vocabulary).matcher()
        matcher.commit(0)
        assert matcher.accepting
        assert matcher.allowed_count == 0

    def test_the_empty_sentence(self) -> None:
        matcher = constraint_of('root ::= ""').matcher()
        assert matcher.accepting
        assert matcher.allowed_tokens().tolist() == [END]


class TestControlTokens:
    """Tokens a, <, |, >, e, n, d, and the control token <|end|>."""

    VOCABULARY = glr.Vocabulary.from_tokens(
        [b"a", b"<", b"|", b">", b"e", b"n", b"d", b"", b""], end_tokens=[8], special_tokens={7: "<|end|>"}
    )

    def test_bytes_never_reach_it(self) -> None:
        for body in (r"[^\x00]+", ".*", '"<|end|>"', '("<" | "<|end|>")+'):
            matcher = constraint_of(f"root ::= {body}", self.VOCABULARY).matcher()
            assert not matcher.allows(7)
            assert not matcher.try_commit(7)

    def test_its_text_is_made_of_ordinary_tokens(self) -> None:
        matcher = constraint_of('root ::= "<|end|>"', self.VOCABULARY).matcher()
        for token in (1, 2, 4, 5, 6, 2, 3):
            assert matcher.allowed_tokens().tolist() == [token]
            matcher.commit(token)
        assert matcher.accepting

    def test_a_token_literal_is_that_token_only(self) -> None:
        matcher = constraint_of("root ::= <|end|> [a]", self.VOCABULARY).matcher()
        assert matcher.allowed_tokens().tolist() == [7]
        assert matcher.forced_bytes() == b""
        matcher.commit(7)
        assert matcher.allowed_tokens().tolist() == [0]


class TestForksAndHistory:
    def test_matchers_of_one_constraint_are_independent(self) -> None:
        constraint = constraint_of(JSON)
        walks = [random_walk(constraint, Random(seed), 40) for seed in range(2)]
        one, two = constraint.matcher(), constraint.matcher()
        for (token1, mask1), (token2, mask2) in zip(*(zip(*walk, strict=False) for walk in walks), strict=False):
            assert one.mask().tolist() == mask1
            assert two.mask().tolist() == mask2
            one.commit(token1)
            two.commit(token2)

    def test_fork_in_the_middle_goes_on_alone(self) -> None:
        constraint = constraint_of(JSON)
        matcher = constraint.matcher()
        for data in (b"{", b'"', b"a"):
            matcher.commit(id_of(data))
        fork = matcher.fork()
        matcher.commit(id_of(b'":'))
        assert fork.allows(id_of(b"b"))
        assert not matcher.allows(id_of(b"b"))
        del matcher
        gc.collect()
        for data in (b"b", b'":', b"1", b"}"):
            fork.commit(id_of(data))
        assert fork.accepting
        fork.rollback(7)
        assert fork.mask().tolist() == constraint.matcher().mask().tolist()

    def test_rollback_restores_every_mask(self) -> None:
        constraint = constraint_of(JSON)
        tokens, masks = random_walk(constraint, Random(1), 120)
        matcher = constraint.matcher()
        for token in tokens:
            matcher.commit(token)
        for mask in reversed(masks[: len(tokens)]):
            matcher.rollback(1)
            assert matcher.mask().tolist() == mask

    def test_commits_counts_what_can_be_rolled_back(self) -> None:
        matcher = constraint_of('root ::= "a"+').matcher()
        matcher.commit(id_of(b"a"))
        matcher.commit_bytes(b"aaa")
        assert matcher.commits == 2
        matcher.rollback(2)
        assert matcher.commits == 0
        assert not matcher.accepting

    def test_parts_outlive_what_they_were_made_from(self) -> None:
        matcher = constraint_of('root ::= "a"+', glr.Vocabulary.from_tokens([b"a"], end_tokens=[1])).matcher()
        gc.collect()
        matcher.commit(0)
        assert matcher.allowed_tokens().tolist() == [0, 1]


class TestForcedBytes:
    @pytest.mark.parametrize(
        ("grammar", "text", "forced"),
        [
            ('root ::= "{\\"name\\": " [a-z]+', b"", b'{"name": '),
            ('root ::= "{\\"name\\": " [a-z]+', b'{"na', b'me": '),
            ('root ::= "ab" | "ac"', b"", b"a"),
            ('root ::= "a" "b"?', b"", b"a"),
            ('root ::= "日本" | "日曜"', b"", "日".encode() + b"\xe6"),
            ('root ::= "a"*', b"", b""),
            ('root ::= ("ab")+', b"a", b"b"),
            ('root ::= "x" y\ny ::= y "b" | "c"', b"", b"xc"),
            ('root ::= "a"{50}', b"aaaaaaaaaa", b"a" * 40),
            ('root ::= "a" ("b" dead | "c")\ndead ::= "d" dead', b"", b"ac"),
        ],
    )
    def test_up_to_the_first_choice_or_the_end(self, grammar: str, text: bytes, forced: bytes) -> None:
        every_byte = glr.Vocabulary.from_tokens([bytes([byte]) for byte in range(256)], end_tokens=[256])
        matcher = constraint_of(grammar, every_byte).matcher()
        matcher.commit_bytes(text)
        assert matcher.forced_bytes() == forced
        matcher.commit_bytes(forced)
        assert matcher.forced_bytes() == b""


class TestExplain:
    def test_says_where_and_what_was_expected(self) -> None:
        matcher = constraint_of('root ::= "{" [0-9]+ "}"').matcher()
        matcher.commit(id_of(b"{"))
        good, bad, partly = (matcher.explain(id_of(data)) for data in (b"1", b'"', b"ab"))
        assert good.allowed
        assert not bad.allowed
        assert bad.failed_at == 0
        assert partly.failed_at == 0
        assert bad.reason
        assert "root" in " ".join(bad.expected)
        assert matcher.allowed_count == 2

    def test_byte_at_which_a_token_fails(self) -> None:
        matcher = constraint_of('root ::= "a" [c1]').matcher()
        assert matcher.explain(id_of(b"ab")).failed_at == 1

    def test_every_token_can_be_asked_about(self) -> None:
        matcher = constraint_of(JSON).matcher()
        for token in [-1, *range(END + 2)]:
            assert matcher.explain(token).allowed == matcher.allows(token)


class TestThreads:
    def test_one_constraint_many_threads(self) -> None:
        """Walks in eight threads on a fresh constraint give the masks that one thread gives."""
        wanted = [random_walk(constraint_of(JSON), Random(seed), 60) for seed in range(24)]
        constraint = constraint_of(JSON, glr.Vocabulary.from_tokens([*TEXTS, b""], [END], {END: "</s>"}))
        start, failures = threading.Barrier(8), []

        def work(number: int) -> None:
            start.wait()
            for seed in range(24):
                seed = (seed + 3 * number) % 24
                if random_walk(constraint, Random(seed), 60) != wanted[seed]:
                    failures.append((number, seed))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive(), "locked up"
        assert not failures

    def test_compiling_in_many_threads(self) -> None:
        vocabulary = glr.Vocabulary.from_tokens([*TEXTS, b""], [END])
        bodies = [f'root ::= "{{" [a-b{n}]* "}}" | "[" root "]"' for n in range(8)]
        wanted = [random_walk(constraint_of(body), Random(0), 30)[0] for body in bodies]
        found: list[list[int]] = [[] for _ in bodies]

        def work(number: int) -> None:
            found[number] = random_walk(constraint_of(bodies[number], vocabulary), Random(0), 30)[0]

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert found == wanted


MEMORY = """
import gc, sys
from pathlib import Path
import glrsampler as glr

def resident():
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"): return int(line.split()[1])

text = Path(sys.argv[1]).read_text()
vocabulary = glr.Vocabulary.from_tokens([bytes((b,)) for b in range(256)], end_tokens=[256])
constraint = glr.Grammar.from_gbnf(text).compile(vocabulary)

def use(number):
    matcher = constraint.matcher()
    for step in range(20):
        allowed = matcher.allowed_tokens()
        if number % 10 == 0 and step == 10: raise RuntimeError
        if allowed[0] == 256: return
        matcher.commit(int(allowed[(number * 31 + step * 7) % len(allowed)]) if step % 5 else int(allowed[-1]))

def errors():
    for attempt in (lambda: glr.Grammar.from_gbnf("root ::= nosuch"), lambda: glr.Grammar.from_file("/nowhere/x.gbnf")):
        try:
            attempt()
        except (glr.Error, OSError):
            continue
        raise SystemExit("no error")

for number in range(1000):
    try:
        use(number)
    except (RuntimeError, glr.RejectedToken):
        pass
    errors()
    if number == 100: before = resident()
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_memory_is_given_back(tmp_path: Path) -> None:
    """A thousand matchers and two thousand errors grow the process by less than 20 MB, and print nothing."""
    grammar = tmp_path / "json.gbnf"
    grammar.write_text(JSON, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", MEMORY, str(grammar)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert int(done.stdout) < 20_000, f"grew by {done.stdout} KB"


def test_stats_count_what_was_explored(letters: glr.Vocabulary) -> None:
    flat = glr.Grammar.from_gbnf('root ::= "a" "b"').compile(glr.Vocabulary.from_tokens([b"a", b"b"]), mode="eager")
    assert dict(flat.stats)["frames"] == 0
    assert flat.stats.states >= 2
    nested = glr.Grammar.from_gbnf('root ::= "a" root "b" | "c"').compile(letters, mode="eager")
    assert nested.stats.frames == 1  # what follows the inner root: "b"
    assert nested.stats.entries > 0
    assert nested.stats.bytes > 0
    assert nested.stats.compile_ms > 0
