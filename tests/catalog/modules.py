"""Published Go modules as folders: what the reference and its forerunners ship."""

import json
import shutil
import subprocess
from pathlib import Path


def folder(module: str) -> Path:
    """Folder of a module, `path@version`, which the go command fetches once."""
    go = shutil.which("go")
    assert go, f"{module} is fetched with the go command, which is not on PATH"
    done = subprocess.run(
        [go, "mod", "download", "-json", module], capture_output=True, text=True, check=True
    )
    return Path(json.loads(done.stdout)["Dir"])
