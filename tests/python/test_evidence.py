"""The record of a run meets its published schema and holds nothing that was read or written."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import glrsampler as glr
import jsonschema
import numpy as np
import pytest
from glrsampler import evidence

ANIMAL = r'root ::= "{\"animal\": \"" [a-z]{3,12} "\", \"legs\": " [0-9] "}"'
PROMPT = "A cat as JSON: "
VALIDATOR = jsonschema.Draft202012Validator(evidence.schema())


@pytest.fixture(scope="module")
def animal(vocabulary: glr.Vocabulary) -> glr.Sampler:
    return glr.Sampler(glr.Grammar.from_gbnf(ANIMAL).compile(vocabulary), seed=11)


def record_of(result: glr.Result) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(json.dumps(result.evidence))
    VALIDATOR.validate(record)
    return record


def test_the_schema_is_one_and_refuses_what_it_does_not_name(llm: glr.Llama, animal: glr.Sampler) -> None:
    jsonschema.Draft202012Validator.check_schema(evidence.schema())
    record = record_of(glr.generate(llm, PROMPT, animal, max_tokens=3))
    for change in ({"prompt": "x"}, {"seed": -1}, {"grammar": "/home/me/x.gbnf"}, {"reason": "tired"}):
        assert not VALIDATOR.is_valid({**record, **change})
    for name in record:
        assert not VALIDATOR.is_valid({key: value for key, value in record.items() if key != name}), name


def test_every_end_has_a_record(llm: glr.Llama, animal: glr.Sampler, vocabulary: glr.Vocabulary) -> None:
    letter = [token for token in range(len(vocabulary)) if vocabulary.token_bytes(token)[:1] == b"{"]
    forbidding = glr.Sampler(animal.constraint, forbidden_tokens=letter)
    for result in (
        glr.generate(llm, PROMPT, animal),
        glr.generate(llm, PROMPT, animal, max_tokens=2),
        glr.generate(llm, PROMPT, animal, stop="animal"),
        glr.generate(llm, PROMPT, animal, cancel=lambda: True),
        glr.generate(llm, PROMPT, animal, prefix='{"ani'),
        glr.generate(llm, PROMPT, forbidding),
    ):
        record = record_of(result)
        assert record["status"] == result.status
        assert record["reason"] == result.reason
        assert record["code"] == glr.Reason(result.reason).code  # type: ignore[call-arg]  # looked up by value
        assert len(record["allowed"]) == record["tokens"]
        assert record["allowed"].count(0) == record["forced"]
    assert record_of(glr.generate(llm, PROMPT, forbidding))["settings"]["forbidden_tokens"] == len(letter)


def test_all_but_timings_repeats(llm: glr.Llama, animal: glr.Sampler) -> None:
    first, second = (
        {k: v for k, v in record_of(glr.generate(llm, PROMPT, animal)).items() if not k.endswith("_ms")}
        for _ in range(2)
    )
    assert first == second
    assert first["seed"] == 11


def test_nan_logits_are_counted() -> None:
    letters = glr.Vocabulary.from_tokens([b"a", b"b"], [2])
    sampler = glr.Sampler(glr.Grammar.from_gbnf("root ::= [ab]+").compile(letters), seed=1)
    sampler.sample(np.array([np.nan, 0, np.nan], dtype=np.float32))
    assert sampler.evidence["nan_count"] == 2


def test_the_model_is_told_by_its_content(llm: glr.Llama, model_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other name.gguf"
    shutil.copy(model_path, copy)
    same = type("Loaded", (), {"model_path": str(copy), "metadata": {}})()
    assert evidence.model_identity(same) == evidence.model_identity(llm)
    with copy.open("r+b") as file:
        file.seek(-10, 2)
        file.write(b"\x00\x01")
    assert evidence.model_identity(same) != evidence.model_identity(llm)


def test_no_secret_is_in_the_record(llm: glr.Llama, vocabulary: glr.Vocabulary, tmp_path: Path) -> None:
    """Secrets in everything that goes into a run or comes out of it, searched for as they are and encoded."""
    folder = tmp_path / "SecretFolder"
    folder.mkdir()
    file = folder / "SecretFile.gbnf"
    file.write_text(
        '# SecretComment\nroot ::= "{\\"SecretKey\\": \\"SecretValue" SecretRule "\\"}"\nSecretRule ::= [a-z]{3,9}\n'
    )
    constraint = glr.Grammar.from_file(str(file)).compile(vocabulary)
    word = vocabulary.find(" hello")
    assert word is not None
    sampler = glr.Sampler(constraint, seed=3, forbidden_tokens=[word])
    runs = [
        glr.generate(llm, "SecretPrompt ", sampler, stop="SecretStop", prefix='{"SecretKe'),
        glr.generate(llm, llm.tokenize(b"SecretPrompt"), sampler, max_tokens=4),
        glr.generate(llm, "SecretPrompt ", sampler, stop="SecretValue"),
        glr.generate(llm, "SecretPrompt ", sampler, cancel=lambda: True),
    ]
    secrets = [
        "SecretFolder", "SecretFile", "SecretComment", "SecretKey", "SecretValue", "SecretRule", "SecretPrompt",
        "SecretStop", "SecretKe", "Secret", str(tmp_path), tmp_path.name, llm.model_path, Path(llm.model_path).name,
    ]  # fmt: skip
    for run in runs:
        text = json.dumps(record_of(run))
        for secret in [*secrets, *([run.text] if run.text else [])]:
            data = secret.encode()
            shapes = [secret, data.hex(), base64.b64encode(data).decode().rstrip("="), json.dumps(secret)[1:-1]]
            shapes += [str(list(data))[1:-1], secret.lower(), secret[::-1]]
            assert not [shape for shape in shapes if shape in text], secret
        ids = ", ".join(map(str, run.tokens[:3]))
        assert len(run.tokens) < 3 or ids not in text
        assert str(word) not in json.dumps(run.evidence["settings"])
