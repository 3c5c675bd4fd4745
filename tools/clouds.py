"""Try the stacks of clouds against the SDKs of those: `python -m tools.clouds`.

The SDKs are a gigabyte and no dependency of ours, so they go into a folder of the cache, where type
checker and tests find them: mypy reads each stack against its SDK, and tests/clouds runs each under
Pulumi's mocks. No cloud is asked for anything.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools import lock
from trainer_infra import home_folders

SDKS: Final = ("pulumi-gcp==10.2.0", "pulumi-aws==7.51.1", "pulumi-azure-native==3.29.0")
"""Newer ones than a user's may be: what is given here has to be known by them."""
STACKS: Final = ("stacks/gke", "stacks/eks", "stacks/aks")
_SCRIPTS: Final = Path(sys.executable).parent


def main() -> None:
    """Check every stack; the exit code is that of the first step that failed."""
    folder = _sdk_folder()
    for stack in STACKS:
        print(f"clouds: {stack}, its types", flush=True)
        _end_on_failure(_mypy(stack, folder))
    print("clouds: all of them under mocks", flush=True)
    _end_on_failure(_pytest(folder))


def _sdk_folder() -> Path:
    """The SDKs without what they depend on, which the checkout has."""
    folder = (
        home_folders.cache_home() / "clouds" / "-".join(each.partition("==")[2] for each in SDKS)
    )
    if folder.exists():
        return folder
    print(f"clouds: {', '.join(SDKS)}, into {folder}", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = tempfile.mkdtemp(dir=folder.parent, prefix=".partial-")
    command = (_SCRIPTS / "uv", "pip", "install", "--quiet", "--python", sys.executable)
    done = subprocess.run((*command, "--no-deps", "--target", partial, *SDKS), check=False)
    if done.returncode:
        shutil.rmtree(partial)
        sys.exit(done.returncode)
    Path(partial).rename(folder)
    return folder


def _mypy(stack: str, folder: Path) -> int:
    cache = home_folders.cache_home() / "clouds" / "mypy"
    options = ("--strict", "--follow-imports=silent", "--cache-dir", str(cache))
    command = (_SCRIPTS / "mypy", *options, f"{stack}/__main__.py")
    env = {**os.environ, "MYPYPATH": os.pathsep.join((str(folder), str(lock.ROOT)))}
    return subprocess.run(command, cwd=lock.ROOT, env=env, check=False).returncode


def _pytest(folder: Path) -> int:
    command = (_SCRIPTS / "pytest", "-W", "default", "tests/clouds")
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=lock.ROOT, env=env, check=False).returncode


def _end_on_failure(code: int) -> None:
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
