"""`files`: single files in a pod whose content is in a Secret or a ConfigMap.

A Secret leaves a reference to the job's own Secret (design rule 1). The API takes no `envFrom` and
no volumes for `spec.trainer`, but a runtime patch may have volumes and mounts: so files are
possible, and all keys of a Secret as variables are not. Pure.
"""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.secret import Secret
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict

FORMS: Final = (
    'give Secret("..."), {"secretKeyRef": {"name": ..., "key": ...}} or {"configMapKeyRef": {...}}'
)
KINDS: Final = ("secretKeyRef", "configMapKeyRef")
REFERENCE: Final = frozenset({"name", "key", "optional"})


def file_key(path: str) -> str:
    """Key of a file's content in the job's own Secret."""
    return f"file.{hashlib.sha256(path.encode()).hexdigest()[:8]}"


def file_references(given: Mapping[str, Any]) -> dict[str, JSONDict]:
    """Path in the pod -> where the content is, as an env variable's `valueFrom` says it."""
    return {
        path: {"secretKeyRef": {"name": names.OWN_SECRET, "key": file_key(path)}}
        if isinstance(value, Secret)
        else {kind: dict(reference) for kind, reference in value.items()}
        for path, value in sorted(given.items())
    }


def file_secrets(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the job's own Secret has of them: key -> text."""
    return {file_key(path): each.value for path, each in given.items() if isinstance(each, Secret)}


def file_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    """Paths that cannot be mounted, and content that is in none of these places."""
    for path, value in given.items():
        where = f"files[{path!r}]"
        if path != posixpath.normpath(path) or not path.startswith("/") or path == "/":
            fix = "give the absolute path of a file, such as /etc/team/key.json"
            yield Problem(where, "is not a path of a file", got=path, fix=fix)
        elif path.startswith(f"{posixpath.dirname(names.CODE_MOUNT)}/"):
            yield Problem(where, "is in the folder of trainer_infra itself", fix="use another one")
        if isinstance(value, Secret):
            if not value.later:
                yield from value.problems(where)
        elif not _is_reference(value):
            what = "must say where the file's content comes from"
            if isinstance(value, Mapping):
                yield Problem(where, what, got=value, fix=FORMS)
            else:
                # It may be the secret that the user meant to give as one.
                yield Problem(where, f"{what}, not hold the content itself", fix=FORMS)


def _is_reference(value: Any) -> bool:
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((kind, reference),) = value.items()
    return (
        kind in KINDS
        and isinstance(reference, Mapping)
        and {"name", "key"} <= reference.keys() <= REFERENCE
        and all(isinstance(reference[each], str) and reference[each] for each in ("name", "key"))
        and isinstance(reference.get("optional", False), bool)
    )
