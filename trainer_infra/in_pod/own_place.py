"""Where this very trainer_infra was installed from, so that what a message or a file says installs the same.

No public index has it: a message that says the name alone would install what a stranger has put
there under it.
"""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "trainer-infra"


def requirement(extra: str) -> str:
    """This package with an extra, as a requirements file has it.

    A repository at its commit, a checkout or an archive where pip took it from there (PEP 610); else the version, which
    the index of this machine has.
    """
    origin = _origin()
    url = str(origin.get("url") or "")
    if not url:
        return f"{NAME}[{extra}]=={metadata.version(NAME)}"
    version = origin.get("vcs_info")
    place = f"{version['vcs']}+{url}@{version['commit_id']}" if version else url
    below = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    return f"{NAME}[{extra}] @ {place}{below}"


def install_command(extra: str, pip: str = "pip") -> str:
    """What a shell runs to add an extra to this installation: a checkout that is edited stays one."""
    origin = _origin()
    if (origin.get("dir_info") or {}).get("editable"):
        folder = unquote(urlsplit(origin["url"]).path)
        return f"{pip} install -e {shlex.quote(f'{folder}[{extra}]')}"
    return f"{pip} install {shlex.quote(requirement(extra))}"


def place_requirement(place: str, extra: str) -> str:
    """This package with an extra from a path or a URL that the user names.

    Raises:
        ValueError: It is neither.
    """
    scheme = place.partition("://")[0]
    if "://" in place and scheme.rpartition("+")[2] in {"file", "http", "https", "ssh"}:
        return f"{NAME}[{extra}] @ {place}"
    path = Path(place).expanduser().absolute()
    if "://" in place or not path.exists():
        raise ValueError(place)
    return f"{NAME}[{extra}] @ {path.as_uri()}"


def _origin() -> dict[str, Any]:
    """PEP 610's record of where pip took it from; empty where that was an index, or there is no record."""
    try:
        text = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, Any] = json.loads(text or "{}")
    return found
