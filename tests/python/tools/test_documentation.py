"""The examples of docs/tools.md run, and the promises of docs/security.md name tests that are there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import glrsampler as glr

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
DRIVER = """
import json, sys
import shop
import glrsampler as glr

def call(declared, arguments):
    text = {"name": declared.name, "arguments": arguments, "version": declared.version, "schema": declared.schema_hash}
    return broker.execute(json.dumps(text), broker.issue())

if __name__ == "__main__":
    broker = glr.tools.Broker(glr.tools.Manifest([shop.stock, shop.order]), automatic=["stock"], confirm=shop.confirm)
    outcomes = [call(shop.stock, {"item": "lamp"}), call(shop.order, {"item": "lamp", "count": 2}),
                call(shop.order, {"item": "lamp", "count": 3}), call(shop.order, {"item": "lamp", "count": 11})]
    print(json.dumps([[outcome.reason, outcome.result] for outcome in outcomes]))
"""


def test_the_writing_tool_of_the_documentation(tmp_path: Path) -> None:
    """In processes of its own, as written; asked about each time."""
    text = (DOCS / "tools.md").read_text(encoding="utf-8")
    block = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "# shop.py" in block)
    (tmp_path / "shop.py").write_text(block, encoding="utf-8")
    (tmp_path / "driver.py").write_text(DRIVER, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "driver.py"], cwd=tmp_path, input="yes\nno\n", capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.rpartition("Type yes to do it: ")[2]) == [
        ["executed", {"count": 3}],
        ["executed", "ordered 2 lamp, slow"],
        ["not_confirmed", None],
        ["invalid_arguments", None],
    ]
    assert done.stdout.count('"authorisation":"pending"') == 2


def test_every_promise_names_tests_that_are_there() -> None:
    text = (DOCS / "security.md").read_text(encoding="utf-8")
    table = text.partition("## What is promised")[2].partition("## How")[0]
    rows = [row.split("|") for row in table.splitlines() if row.startswith("| ")][1:]
    assert len(rows) > 10
    for _, promise, tests, _ in rows:
        named = re.findall(r"`([\w/]+\.py)`", tests)
        assert named, promise
        for name in named:
            found = ROOT / name if "/" in name else Path(__file__).parent / name
            assert "def test_" in found.read_text(encoding="utf-8"), name


def test_every_option_is_documented() -> None:
    text = (DOCS / "tools.md").read_text(encoding="utf-8")
    for name in ("version", "capability", "timeout", "max_bytes", "isolated", "name", "description", "schema"):
        assert name in glr.tools.tool.__annotations__
        assert f"`{name}" in text
    for name in glr.tools.FORMATS:
        assert f"| `{name}`" in text
