"""Addresses of folders that pods mount: `pvc://CLAIM/PATH`, a volume claim, or `/PATH`, of a machine. Pure."""

import re
from collections.abc import Iterator
from typing import Any, Final

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict

CLAIM: Final = "pvc://"
FOLDER: Final = "/"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_IN_WORDS: Final = {" ": "a blank", "\t": "a tab", "\n": "a line break", "\r": "a line break"}
_CREDENTIALS: Final = re.compile(r"://[^/]*@")


def is_folder(address: str) -> bool:
    """Whether an address is one of a folder that can be mounted."""
    return address.startswith((CLAIM, FOLDER))


def has_credentials(address: str) -> bool:
    """Whether an address has a user in it, and perhaps a password."""
    return bool(_CREDENTIALS.search(address))


def claim_of(address: str) -> tuple[str, str]:
    """Name and path of an address in a claim."""
    claim, _, path = address.removeprefix(CLAIM).partition("/")
    return claim, path.strip("/")


def names_claim(address: str) -> bool:
    """Whether an address in a claim begins with a name that a claim can have."""
    return bool(_NAME.fullmatch(claim_of(address)[0]))


def refused_character(address: str) -> str:
    """The first character that an address cannot have, in words; empty where there is none."""
    found = re.search(r"[\s\x00-\x1f\x7f]", address)
    return _IN_WORDS.get(found[0], f"the character {found[0]!r}") if found else ""


def address_problems(path: str, given: Any) -> Iterator[Problem]:
    """What is wrong with an address of a folder as it was given."""
    fix = "write pvc://CLAIM/PATH, or the absolute path of a folder"
    found = refused_character(given) if isinstance(given, str) else ""
    if not isinstance(given, str) or not is_folder(given) or found:
        got = None if isinstance(given, str) and has_credentials(given) else given
        what = f"has {found} in it" if found else "is not an address of a folder"
        yield Problem(path, what, got=got, fix=fix)
    elif given.startswith(CLAIM) and not names_claim(given):
        yield Problem(path, "names no volume claim", got=given, fix=fix)
    elif ".." in given.split("/"):
        yield Problem(path, "may not have .. in it", got=given)


def volume_of(name: str, address: str) -> JSONDict:
    """The volume of a folder, under a name of its own: of one claim there may be several."""
    if address.startswith(CLAIM):
        return {"name": name, "persistentVolumeClaim": {"claimName": claim_of(address)[0]}}
    return {"name": name, "hostPath": {"path": address, "type": "DirectoryOrCreate"}}


def mount_of(name: str, address: str, mount_path: str) -> JSONDict:
    """The mount of such a volume."""
    path = claim_of(address)[1] if address.startswith(CLAIM) else ""
    return {"name": name, "mountPath": mount_path, **({"subPath": path} if path else {})}
