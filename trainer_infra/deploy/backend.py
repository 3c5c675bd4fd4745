"""Which backend keeps a stack: what tells runs of two backends with equal stacks apart.

Two people with a backend each, or two organizations, may have the same project, stack and resource.
The provider's process works this out, and `gc` in the same way: a program may run elsewhere
(Automation API). Places are asked in the order in which the Pulumi command asks them (its
`workspace.GetCurrentCloudURL`). A folder's path says nothing, everybody has `file://~`, so such a
backend keeps an id beside its `meta.yaml`; of a folder the command reads nothing but that file and
`stacks`, `history`, `backups` and `locks`. No Pulumi library is needed.
"""

import json
import os
import platform
import pwd
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import yaml

from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject

PROJECT_FILES: Final = ("Pulumi.yaml", "Pulumi.yml")
FILE: Final = "file://"
ID_FILE: Final = "trainer-infra-id"
"""In the folder `.pulumi` of a backend that is a folder."""
NO_ORGANIZATION: Final = "organization"
"""What the program prints where its backend has none."""
SERVICE: Final = "https://api.pulumi.com"
_ID: Final = re.compile(r"[-.A-Za-z0-9]{16,120}")
_TELLING: Final = ("domain", "endpoint", "storage_account", "table")
"""Parameters of an object store's URL that say which one it is; others may be credentials."""


def with_backend(owner: JSONObject) -> dict[str, Any]:
    """The owner that a program declares, with the backend of this process for its organization."""
    rest = {key: each for key, each in owner.items() if key != "organization"}
    found = _here(str(owner.get("organization") or ""))
    return rest | ({"backend": found} if found else {})


@lru_cache(maxsize=8)
def _here(organization: str) -> str:
    content: JSONObject = {}
    folders = [Path.cwd()]
    if file := next(project_files(Path.cwd()), None):
        folders.insert(0, file.parent)
        with suppress(NotAvailable):
            content = read_settings(file)
    return backend_identity(os.environ, content, organization, folders)


def backend_url(environment: Mapping[str, str], project: JSONObject) -> str:
    """The URL of the backend that the Pulumi command uses by these variables and this `Pulumi.yaml`; or empty."""
    if found := environment.get("PULUMI_BACKEND_URL"):
        return found
    backend = project.get("backend")
    if isinstance(backend, Mapping) and backend.get("url"):
        return str(backend["url"])
    place = environment.get("PULUMI_CREDENTIALS_PATH") or pulumi_home(environment)
    try:
        text = (Path(place) / "credentials.json").read_text(encoding="utf-8")
        return str(json.loads(text).get("current") or "")
    except (OSError, ValueError, AttributeError):
        # There is none, or it is encrypted.
        return ""


def pulumi_home(environment: Mapping[str, str]) -> Path:
    """The Pulumi command's own folder."""
    return Path(environment.get("PULUMI_HOME") or _users_folder() / ".pulumi")


def _users_folder() -> Path:
    """The folder that Pulumi takes for the user's: the system's own, whatever HOME says (Go's `user.Current`).

    HOME is another one in a container of a CI service, or after `sudo -E`.
    """
    with suppress(KeyError):
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    return Path.home()


def backend_identity(
    environment: Mapping[str, str], project: JSONObject, organization: str, folders: Iterable[Path]
) -> str:
    """What tells the backend, and in Pulumi's service the organization, from all others; empty where that is not known.

    A relative path of a backend may begin in each of the folders, the likeliest first.
    """
    backend = backend_url(environment, project)
    if backend.startswith(FILE):
        return _of_folder(backend.removeprefix(FILE).partition("?")[0], tuple(folders))
    known = organization not in ("", NO_ORGANIZATION)
    if not backend and not known:
        return ""
    try:
        split = urlsplit(backend or environment.get("PULUMI_API") or SERVICE)
        place = f"{split.scheme}://{split.hostname}{f':{split.port}' if split.port else ''}"
    except ValueError:
        return ""
    path = split.path.rstrip("/")
    if split.scheme in ("http", "https"):
        return f"{place}{path}/{organization}" if known else f"{place}{path}"
    asked = {key: each[-1] for key, each in parse_qs(split.query).items() if key in _TELLING}
    if split.scheme == "azblob" and (account := environment.get("AZURE_STORAGE_ACCOUNT")):
        asked.setdefault("storage_account", account)
    told = "&".join(f"{key}={asked[key]}" for key in sorted(asked))
    return f"{place}{path}{f'?{told}' if told else ''}"


def _of_folder(path: str, folders: tuple[Path, ...]) -> str:
    """The id that the folder keeps; where it can keep none, the machine and its path."""
    if path.startswith("~"):
        places = [_users_folder() / path[2:]]
    else:
        begins = (Path("/"),) if path.startswith("/") else folders
        places = [Path(os.path.normpath(each / path)) for each in begins]
    place = next((each for each in places if (each / ".pulumi").is_dir()), places[0])
    with suppress(OSError):
        found = _id_in(place / ".pulumi")
        if _ID.fullmatch(found):
            return f"file:{found}"
    return f"{FILE}{platform.node()}{place}"


def _id_in(folder: Path) -> str:
    """The id in a backend's folder, made in one step where there is none as yet; OSError where that is refused."""
    file = folder / ID_FILE
    with suppress(FileNotFoundError):
        return file.read_text(encoding="utf-8", errors="replace").strip()
    # The machine's name is for people: it says whose backend that may be.
    machine = re.sub(r"[^-.A-Za-z0-9]", "-", platform.node())[:60]
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{ID_FILE}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as made:
            made.write(f"{machine or 'machine'}-{secrets.token_hex(8)}\n")
        Path(temporary).chmod(0o644)
        # Of two that make it, one links first; the other finds that one's.
        with suppress(FileExistsError):
            os.link(temporary, file)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return file.read_text(encoding="utf-8", errors="replace").strip()


def project_files(folder: Path) -> Iterator[Path]:
    """The `Pulumi.yaml` of a folder and of those above it, the nearest first."""
    for each in (folder, *folder.parents):
        yield from (each / name for name in PROJECT_FILES if (each / name).is_file())


def read_settings(file: Path) -> JSONObject:
    """What a file of the Pulumi command says.

    Raises:
        NotAvailable: It cannot be read.
    """
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise NotAvailable(f"{file} cannot be read: {error}") from None
    if not isinstance(content, Mapping):
        raise NotAvailable(f"{file} holds no mapping of settings")
    return content
