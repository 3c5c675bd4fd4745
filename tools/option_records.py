"""Records what the argument parsers of libraries take: `python -m tools.option_records [NAME ...]`.

Each record is made by `parser_record.py` in an environment of its own, which has the library with the version
that is pinned here and stays in the cache. A new version is a new pin here and a new record.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from from_source.cluster import build
from trainer_infra.errors import NotAvailable
from trainer_infra.trainers.libraries import option_schema, parser_record

PINS: Final = {
    "trl": ("trl==1.16.0", "peft==0.21.2", "torch==2.15.0", "transformers==5.24.0"),
    "transformers": ("transformers==5.24.0", "torch==2.15.0", "accelerate==1.15.0"),
    "torchtune": (
        "torchtune==0.6.1",
        "torchao==0.15.0",
        "torch==2.15.0",
        "bitsandbytes==0.50.2",
    ),
    "deepspeed": ("deepspeed==0.19.8", "torch==2.15.0", "setuptools==84.2.1"),
    "xgboost": ("xgboost-cpu==3.2.0", "scikit-learn==1.9.1"),
    "llamafactory": ("llamafactory==0.9.5", "torch==2.15.0"),
    # Its command line needs nothing else; the rest of it needs another torch.
    "unsloth": (
        "unsloth==2026.10.9",
        "typer==0.29.2",
        "pydantic==2.14.4",
        "pyyaml==6.0.4",
        "click==8.5.1",
    ),
}
"""Library -> what its environment has."""
ALONE: Final = ("unsloth",)
"""Libraries that are installed without what they ask for."""
FOLDER: Final = Path(option_schema.__file__).with_name("recorded")


def names() -> Sequence[str]:
    """The records that there are."""
    return sorted(each.stem for each in FOLDER.glob("*.json"))


def record(name: str) -> dict[str, Any]:
    """What the parser of a record takes, asked of the library itself."""
    library, _ = parser_record.reader_of(name)
    command = [str(_python(library)), parser_record.__file__, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotAvailable(f"{name}: the parser cannot be asked:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def text_of(found: dict[str, Any]) -> str:
    """A record as a file: an option on a line."""
    options = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in found["options"].items()
    )
    head = json.dumps({name: each for name, each in found.items() if name != "options"})
    return f'{head[:-1]}, "options": {{\n{options}\n}}}}\n'


def main(wanted: Sequence[str]) -> None:
    """Write the records."""
    for name in wanted or names():
        (FOLDER / f"{name}.json").write_text(text_of(record(name)), "utf-8")
        print(f"{name}: written")


def _python(library: str) -> Path:
    """The Python that has a library, installed where it is missing."""
    pins = "-".join(PINS[library]).replace("==", "-")
    folder = build.cache() / "option-records" / pins
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        uv = str(Path(sys.executable).with_name("uv"))
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        subprocess.run([uv, "venv", "-q", "--clear", "--python", version, folder], check=True)
        install = (uv, "pip", "install", "-q", "--python", python)
        first, rest = PINS[library][:1], PINS[library][1:]
        if library in ALONE:
            subprocess.run([*install, "--no-deps", *first], check=True)
        subprocess.run([*install, *(rest if library in ALONE else PINS[library])], check=True)
        (folder / "installed").touch()
    return python


if __name__ == "__main__":
    main(sys.argv[1:])
