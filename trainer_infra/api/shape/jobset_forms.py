"""Forms of a JobSet's spec: what JobSet's webhook demands of it, and what its pods mount.

Source: JobSet v0.12's webhook. Subdomain and group name are DNS labels (RFC 1035), the manager is a path below a
domain (apimachinery, `IsDomainPrefixedPath`), and replicas times parallelism is an int32.
"""

import re
from collections.abc import Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape import pod_forms
from trainer_infra.api.shape.form import (
    JSON,
    asked,
    choice,
    every,
    fields,
    items,
    part_of,
    prefixed,
    text,
    unique,
)
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.syntax import DNS_LABEL_1035, DOMAIN_PATH, Syntax
from trainer_infra.api.shape.walk import Schema

_JOB: Final = ("template", "spec")
_POD: Final = (*_JOB, "template", "spec")
_MOST_PODS: Final = 2**31 - 1
REASONS: Final = tuple(
    reason
    for reason, _ in (
        names.BACKOFF_LIMIT,
        names.JOB_DEADLINE,
        names.FAILED_INDEXES,
        names.MAX_FAILED_INDEXES,
        (names.POD_FAILURE_POLICY, ""),
    )
)
"""Why a Job can have failed (batch/v1)."""
_LONGEST_NAME: Final = 128
_NAME: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
_RULE_NAME: Final = Syntax(
    f"1 to {_LONGEST_NAME} letters, digits, _, comma and :, begin with a letter "
    "and end with none of , and :",
    lambda text: len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None,
)


def _counted(job: JSON) -> Broken:
    each, replicas = part_of(job, *_JOB).get("parallelism"), job.get("replicas")
    count = (1 if each is None else each) * (1 if replicas is None else replicas)
    if count > _MOST_PODS:
        what = f"makes {count} pods with parallelism, and there can be {_MOST_PODS}"
        yield BrokenRule(("replicas",), replicas, what, "lower one of the two")


_ADDED_VOLUMES: Final = {
    names.LAUNCHER: (names.SSH_AUTH_VOLUME, names.HOSTFILE_VOLUME),
    names.NODE: (names.SSH_AUTH_VOLUME,),
}
"""Volumes that MPI's plugin adds to the pods of a job."""


def _mounts_of_jobset(jobset: JSON) -> Broken:
    policies = jobset.get("volumeClaimPolicies") or ()
    claims = [claim for each in policies for claim in each.get("templates") or ()]
    for index, job in enumerate(jobset.get("replicatedJobs") or ()):
        path = ("replicatedJobs", index, *_POD)
        added = _ADDED_VOLUMES.get(job.get("name"), ())
        broken = pod_forms.mounts(part_of(job, *_POD), claims, names.INITIALIZER_VOLUME, *added)
        yield from prefixed(path, broken)


FAILURE_RULE: Final = fields(
    name=text(_RULE_NAME), onJobFailureReasons=items(choice(*REASONS, is_optional=False))
)
"""A rule of a failurePolicy."""
UNIQUE_RULES: Final = fields(rules=unique("name"))
"""A failurePolicy, as far as its rules differ."""
_FAILURE_POLICY: Final = every(fields(rules=items(FAILURE_RULE)), UNIQUE_RULES)
_TEXTS: Final = fields(
    network=fields(subdomain=text(DNS_LABEL_1035)),
    managedBy=text(DOMAIN_PATH, is_optional=False),
    replicatedJobs=items(
        every(fields(groupName=text(DNS_LABEL_1035, is_optional=False)), asked(_counted))
    ),
)
JOBSET_FORMS: Final[Mapping[str, Schema]] = {
    "jobset-forms": _TEXTS,
    "jobset-policies": fields(failurePolicy=_FAILURE_POLICY),
    "volume-mounts": asked(_mounts_of_jobset),
}
"""By rule, the forms of a JobSet's spec but for its jobs."""
