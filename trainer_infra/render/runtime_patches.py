"""spec.runtimePatches: a patch may only name what the runtime has; of two that set one field the later wins.

Rules and messages: reference behaviour 5.1 and 4.3.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem, shown
from trainer_infra.json_values import JSONObject
from trainer_infra.render import merge, resolve
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_URL_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_OWN_ENV: Final = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER, names.NODE)
_PATH: Final = "spec.runtimePatches"


def patch_problems(draft: Draft) -> Iterable[Problem]:
    """Problems of all patches, in list order.

    The reference looks names up in the template after the patches were merged into it, which holds
    every name that a patch has: it never refuses an unknown one (Q10).
    """
    patches = draft.job.spec.runtime_patches
    if not patches:
        return
    spec = resolve.jobset_spec(draft.runtime) if draft.ours(Deviation.Q10) else draft.spec
    jobs = {each["name"]: each for each in spec.get("replicatedJobs") or ()}
    for patch in patches:
        yield from _of_manager(patch.manager)
        template_patch = (patch.training_runtime_spec or {}).get("template") or {}
        for job_patch in (template_patch.get("spec") or {}).get("replicatedJobs") or ():
            yield from _of_job(job_patch, jobs)


def _of_manager(manager: str) -> Iterable[Problem]:
    """A manager is `<domain>/<path>`; Kubernetes' own messages."""
    path = f"{_PATH}.manager"
    domain, slash, rest = manager.partition("/")
    if not domain or not slash or not rest:
        what = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield Problem(path, what, got=manager)
        return
    if not re.fullmatch(_DOMAIN, domain):
        what = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            f"'example.com', regex used for validation is '{_DOMAIN}')"
        )
        yield Problem(path, what, got=domain)
    if not re.fullmatch(_URL_PATH, rest):
        what = f"Invalid path (regex used for validation is '{_URL_PATH}')"
        yield Problem(path, what, got=rest)


def _of_job(patch: JSONObject, jobs: Mapping[str, JSONObject]) -> Iterable[Problem]:
    name = patch["name"]
    if name not in jobs:
        yield Problem(
            _PATH,
            "must not have replicated job that doesn't exist in the runtime job template",
            got=name,
            fix=f"the runtime has {', '.join(jobs)}",
        )
        return
    spec, patched = resolve.pod_spec(jobs[name]), resolve.pod_spec(patch)
    for kind in ("initContainer", "container"):
        known = {each["name"] for each in spec.get(f"{kind}s") or ()}
        for container in patched.get(f"{kind}s") or ():
            own = container["name"]
            if own not in known:
                what = f"must not have {kind} that doesn't exist in the runtime job {name}"
                yield Problem(_PATH, what, got=own)
            elif kind == "container" and own in _OWN_ENV and container.get("env"):
                what = "must not have envs for the dataset-initializer, model-initializer, node containers"
                fix = "set them in spec.trainer.env or spec.initializer"
                yield Problem(_PATH, what, got=own, fix=fix)


def conflict_sentences(job: TrainJob) -> tuple[str, ...]:
    """One sentence for each field that a patch sets after another set it otherwise.

    What counts as one field is what `merge` takes for one: an item of a list with a merge key is found
    by its key, any other list is one value.
    """
    given = job.spec.runtime_patches or ()
    first: dict[str, tuple[int, object]] = {}
    found: list[str] = []
    for position, template in enumerate(resolve.template_patches(job)):
        for field, value in _fields(template, "template"):
            before, old = first.get(field, (position, value))
            if old != value:
                found.append(
                    f"spec.runtimePatches[{position}] (manager {given[position].manager}) sets "
                    f"{field} to {shown(value, name=field)}, which spec.runtimePatches[{before}] (manager "
                    f"{given[before].manager}) sets to {shown(old, name=field)}; the later one wins"
                )
            first[field] = position, value
    return tuple(found)


def _fields(value: JSONObject, path: str) -> Iterator[tuple[str, object]]:
    for name, item in value.items():
        yield from _field(item, f"{path}.{name}" if "/" not in name else f"{path}[{name}]", name)


def _field(value: object, path: str, name: str) -> Iterator[tuple[str, object]]:
    """The paths and values of one field and of what is in it."""
    key = merge.MERGE_KEYS.get(name)
    if isinstance(value, Mapping):
        yield from _fields(value, path)
    elif isinstance(value, list | tuple) and key is not None:
        for item in value:
            inside = f"{path}[{item.get(key)}]"
            if name == "volumes":  # a volume has one source and is replaced as a whole
                yield inside, item
            else:
                yield from _fields({k: v for k, v in item.items() if k != key}, inside)
    elif value is not None:
        yield path, value
