"""A library of another version than the recorded one is asked itself what it takes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from trainer_infra.trainers.libraries import option_schema

CLI = """
import typer

app = typer.Typer()

@app.command()
def train(model: str = "", brand_new: int = 3, packing: bool = False) -> None: ...

@app.command()
def other() -> None: ...
"""
ASKING = """
import json
from trainer_infra.trainers.libraries.installed_options import option_schema_of
found = option_schema_of("unsloth")
print(json.dumps([found.version, sorted(found.options)]))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of packages with an unsloth of version 9, whose program has other options."""
    folder = tmp_path / "packages"
    info = folder / "unsloth-9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unsloth\nVersion: 9\n")
    (folder / "unsloth_cli.py").write_text(dedent(CLI))
    return folder


def asked(tmp_path: Path, packages: Path | None = None) -> tuple[str, list[str]]:
    """Version and options that a new program finds."""
    env = {**os.environ, "TRAINER_INFRA_CACHE": str(tmp_path / "cache")}
    if packages:
        env["PYTHONPATH"] = str(packages)
    command = [sys.executable, "-c", ASKING]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    version, options = json.loads(done.stdout)
    return version, options


def test_another_version_is_asked_once(tmp_path: Path, installed: Path) -> None:
    found = "9", ["brand_new", "model", "packing"]
    assert asked(tmp_path, installed) == found
    (installed / "unsloth_cli.py").write_text("raise SystemExit(1)")
    assert asked(tmp_path, installed) == found


def test_what_was_asked_in_another_way_is_asked_again(tmp_path: Path, installed: Path) -> None:
    kept = tmp_path / "cache" / "option-records" / "unsloth-9.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"library": "unsloth", "version": "9", "options": {}}))
    assert asked(tmp_path, installed) == ("9", ["brand_new", "model", "packing"])


def test_the_record_counts_where_the_library_cannot_say_it(tmp_path: Path, installed: Path) -> None:
    known = option_schema.recorded("unsloth")
    (installed / "unsloth_cli.py").write_text("raise SystemExit(1)")
    assert asked(tmp_path, installed) == (known.version, sorted(known.options))
    assert asked(tmp_path) == (known.version, sorted(known.options))
