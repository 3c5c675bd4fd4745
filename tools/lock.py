"""Renew requirements.lock, what every checkout and CI install: `python -m tools.lock [PACKAGE...]`.

Images have a part of it each, in locks of their own.

uv resolves pyproject.toml with all its extras once for all Pythons and machines that `[tool.uv]`
there names. Without names everything becomes the newest that the ranges admit; with names only
these packages do, and what pyproject.toml no longer admits or newly asks for.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
UV: Final = Path(sys.executable).parent / "uv"
WHOLE: Final = ("--generate-hashes", "--custom-compile-command", "make lock")
IMAGES: Final = {"controller": "controller", "initializer": "initializers"}
"""Folders of images/ whose lock is what of it the image installs, and the extra that this is."""
IN_IMAGE: Final = ("--python-platform", "linux", "--python-version", "3.11")
EVERYWHERE: Final = ("--universal", "--python-version", "3.11")


def main() -> None:
    """Renew the lock of this checkout."""
    packages = sys.argv[1:]
    upgrades = [f"--upgrade-package={each}" for each in packages] or ["--upgrade"]
    code = resolve(ROOT, "requirements.lock", "--all-extras", *WHOLE, *EVERYWHERE, *upgrades)
    for folder, extra in IMAGES.items():
        part = ("--extra", extra, "--constraint", "requirements.lock")
        file = f"images/{folder}/requirements.lock"
        code = code or resolve(ROOT, file, *part, *WHOLE, *IN_IMAGE)
    sys.exit(code)


def resolve(checkout: Path, output: str, *options: str) -> int:
    """Resolve a checkout's pyproject.toml into a file of it; uv's exit code."""
    command = (str(UV), "pip", "compile", "--quiet", "pyproject.toml", "--output-file", output)
    # A source would be built, by tools that no lock names.
    wheels = ("--only-binary", ":all:")
    return subprocess.run((*command, *wheels, *options), cwd=checkout, check=False).returncode


if __name__ == "__main__":
    main()
