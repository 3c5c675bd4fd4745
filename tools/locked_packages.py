"""Install what a lock names into a virtual environment: `python tools/locked_packages.py VENV LOCK`.

For tools/setup.py, with the environment's own Python, which has pip and uv by then. uv takes a tenth of
pip's time, for it links files from its cache; it is told which registry pip is set up for. Where pip has
a setting that cannot be said to uv, pip installs, and uv only removes what an older lock named.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "trainer_infra" / "local"))

import pip_settings  # type: ignore[import-not-found]  # alone: its package needs what is not there yet


def main() -> int:
    """Install; the exit code of what installed."""
    venv, lock = sys.argv[1:]
    pip = [sys.executable, "-m", "pip"]
    sync = ["uv", "pip", "sync", "--require-hashes", "--python", f"{venv}/bin/python", lock]
    listed = subprocess.run(
        [*pip, "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    settings = pip_settings.pip_settings(listed.splitlines())
    if setting := pip_settings.not_passed_on(settings):
        print(f"pip installs: there is no word for its setting {setting} in uv", flush=True)
        binary = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
        done = subprocess.run([*pip, "install", *binary, "-r", lock], check=False)
        return done.returncode or subprocess.run([*sync, "--offline"], check=False).returncode
    told = pip_settings.for_uv(settings, os.environ)
    # No source is built: what builds it would come unchecked.
    return subprocess.run([*sync, "--no-build"], env=os.environ | told, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
