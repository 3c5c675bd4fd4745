"""spec.runtimePatches: a patch may only name what the runtime has.

Rules and messages: spec/trainer-behaviour.md section 5.1, item 4.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.render import resolve
from trainer_infra.render.draft import Draft

JSON = Mapping[str, Any]

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN_PATH: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_OWN_ENV: Final = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER, names.NODE)
_PATH: Final = "spec.runtimePatches"


def problems(draft: Draft) -> Iterable[Problem]:
    """Problems of all patches, in list order."""
    template = draft.runtime.spec.template
    jobs = {
        each["name"]: each
        for each in ((template.spec if template else None) or {}).get("replicatedJobs", ())
    }
    for patch in draft.job.spec.runtime_patches or ():
        if not _DOMAIN_PATH.fullmatch(patch.manager):
            yield Problem(
                f"{_PATH}.manager",
                "must be a domain-prefixed path (such as acme.io/foo)",
                got=patch.manager,
            )
    for template_patch in resolve.patches(draft.job):
        for job_patch in (template_patch.get("spec") or {}).get("replicatedJobs") or ():
            yield from _of_job(job_patch, jobs, like_reference=draft.like_reference)


def _of_job(patch: JSON, jobs: Mapping[str, JSON], *, like_reference: bool) -> Iterable[Problem]:
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
    containers = {each["name"] for each in spec.get("containers") or ()}
    inits = {each["name"] for each in spec.get("initContainers") or ()}
    # The reference looks both kinds up in one set (section 5.1); a regular container patched as
    # an init container would be appended as an invalid one.
    known_inits = inits | containers if like_reference else inits
    yield from _unknown(patched.get("initContainers"), known_inits, "initContainer", name)
    known = inits | containers if like_reference else containers
    yield from _unknown(patched.get("containers"), known, "container", name)
    for container in patched.get("containers") or ():
        if container["name"] in _OWN_ENV and container.get("env"):
            yield Problem(
                _PATH,
                "must not have envs for the dataset-initializer, model-initializer, node containers",
                got=container["name"],
                fix="set them in spec.trainer.env or spec.initializer",
            )


def _unknown(
    patched: Iterable[JSON] | None, known: set[str], kind: str, job: str
) -> Iterable[Problem]:
    for container in patched or ():
        if container["name"] not in known:
            yield Problem(
                _PATH,
                f"must not have {kind} that doesn't exist in the runtime job {job}",
                got=container["name"],
            )
