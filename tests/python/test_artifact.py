"""Saved constraints from Python and from the command line."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import glrsampler as glr
import numpy as np
import pytest

JSON_LIKE = r"""
root ::= object
object ::= "{" (pair ("," pair)*)? "}"
pair ::= string ":" value
value ::= object | string | [0-9]{1,12} | "null"
string ::= "\"" [^"\\]* "\""
"""


def same_walk(original: glr.Constraint, loaded: glr.Constraint, seed: int, steps: int = 30) -> None:
    choose = random.Random(seed)
    a, b = original.matcher(), loaded.matcher()
    for _ in range(steps):
        assert np.array_equal(a.mask(), b.mask())
        allowed = a.allowed_tokens()
        if len(allowed) == 0:
            break
        token = int(choose.choice(allowed))
        a.commit(token)
        b.commit(token)


@pytest.mark.parametrize("mode", ["lazy", "eager", "background"])
def test_masks_are_the_same_on_a_real_vocabulary(vocabulary: glr.Vocabulary, tmp_path: Path, mode: str) -> None:
    grammar = glr.Grammar.from_gbnf(JSON_LIKE)
    original = grammar.compile(vocabulary, mode)  # type: ignore[arg-type]  # one of the three modes
    original.matcher().mask()
    path = tmp_path / "constraint"
    original.save(path)
    loaded = glr.Constraint.load(path, vocabulary)
    entries = loaded.stats.entries
    assert entries > 0
    assert loaded.grammar.fingerprint == grammar.fingerprint
    assert loaded.vocabulary is vocabulary
    for seed in range(5):
        same_walk(original, loaded, seed)
    if mode == "eager":
        assert loaded.stats.entries == entries, "something was computed that had been saved"


def test_paths_are_text_or_path(letters: glr.Vocabulary, tmp_path: Path) -> None:
    constraint = glr.Grammar.from_gbnf('root ::= "ab"').compile(letters)
    constraint.save(str(tmp_path / "é"))
    assert [file.name for file in tmp_path.iterdir()] == ["é"]
    assert glr.Constraint.load(str(tmp_path / "é"), letters).matcher().allows(26)


def test_what_the_file_system_refuses_is_os_error(letters: glr.Vocabulary, tmp_path: Path) -> None:
    constraint = glr.Grammar.from_gbnf('root ::= "ab"').compile(letters)
    with pytest.raises(FileNotFoundError) as missing:
        glr.Constraint.load(tmp_path / "none", letters)
    assert missing.value.filename == str(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        glr.Constraint.load(tmp_path, letters)
    with pytest.raises(FileNotFoundError):
        constraint.save(tmp_path / "no" / "such")
    with pytest.raises(IsADirectoryError):
        constraint.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_incompatible_files(letters: glr.Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "constraint"
    glr.Grammar.from_gbnf('root ::= "ab"').compile(letters, "eager").save(path)
    with pytest.raises(glr.IncompatibleArtifact, match=r"another vocabulary.*save it again"):
        glr.Constraint.load(path, glr.Vocabulary.from_tokens([b"a", b"b"]))
    data = path.read_bytes()
    for damaged in (data[:-1], data[:50], b"", data[:-1] + bytes([data[-1] ^ 1]), b"root ::= 1"):
        path.write_bytes(damaged)
        with pytest.raises(glr.IncompatibleArtifact) as refused:
            glr.Constraint.load(path, letters)
        assert str(path) in str(refused.value)
        assert "save it again" in str(refused.value)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "glrsampler.cli", *arguments]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=120)


def test_command_line(tmp_path: Path) -> None:
    grammar, saved = tmp_path / "number.gbnf", tmp_path / "number.glr"
    grammar.write_text('root ::= "{\\"n\\": " [0-9]{1,3} "}"\n')
    done = run("compile", "--grammar", str(grammar), "-o", str(saved))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert str(saved) in done.stderr
    settings = ("--prompt", "A number: ", "--seed", "3", "--quiet")
    from_grammar = run("generate", "--grammar", str(grammar), *settings)
    from_saved = run("generate", "--constraint", str(saved), *settings)
    assert from_saved.returncode == 0, from_saved.stderr
    assert from_saved.stdout == from_grammar.stdout != ""
    saved.write_bytes(saved.read_bytes()[:-1])
    done = run("generate", "--constraint", str(saved), *settings)
    assert done.returncode == 2
    assert "damaged" in done.stderr


def bytewise() -> glr.Vocabulary:
    return glr.Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b'",', b'": "', b"12", b""], [259])


def test_a_warmed_vocabulary_has_the_entries_and_keeps_them_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    first = bytewise()
    first.warm(folder)
    [file] = folder.iterdir()
    assert first.fingerprint in file.name
    written = file.read_bytes()
    cold = glr.Grammar.from_json_schema({"type": "string"}).compile(bytewise()).stats.entries
    for warmed in (first, bytewise()):
        warmed.warm(folder)
        assert file.read_bytes() == written
        assert glr.Grammar.from_json_schema({"type": "string"}).compile(warmed).stats.entries > cold


def test_a_damaged_cache_file_is_written_anew(tmp_path: Path) -> None:
    bytewise().warm(tmp_path)
    [file] = tmp_path.iterdir()
    good = file.read_bytes()
    file.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    bytewise().warm(tmp_path)
    assert file.read_bytes() == good


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        bytewise().warm(tmp_path / "file" / "folder")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The folder is there; it is the file in it that the system refuses."""
    bytewise().warm(tmp_path / "a")
    [file] = (tmp_path / "a").iterdir()
    in_the_way = tmp_path / "b" / file.name
    in_the_way.mkdir(parents=True)
    with pytest.raises(IsADirectoryError) as error:
        bytewise().warm(tmp_path / "b")
    assert error.value.filename == str(in_the_way)


def test_warming_without_a_folder_writes_nothing_and_changes_no_mask() -> None:
    grammar = glr.Grammar.from_json_schema({"type": "object"})
    warmed = bytewise()
    warmed.warm()
    assert (grammar.compile(warmed).matcher().mask() == grammar.compile(bytewise()).matcher().mask()).all()
