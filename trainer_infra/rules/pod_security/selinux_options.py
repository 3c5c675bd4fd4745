"""selinux-options: a container keeps the SELinux label of containers."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.finding import REMOVED
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_FIELDS: Final = ("type", "user", "role")
_TYPES: Final = ("container_t", "container_init_t", "container_kvm_t", "container_engine_t")
"""Of the level baseline of Kubernetes 1.31 and later; the last one is not in an earlier one's."""


def _places(subject: Subject) -> Iterator[Value]:
    for context in security_context.security_contexts(subject):
        yield from (context.at("seLinuxOptions", each) for each in _FIELDS)


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    said, field = place.text(), str(place.path[-1])
    if said and not (field == "type" and said in _TYPES):
        fix = f"leave it out, or use {' or '.join(_TYPES)}" if field == "type" else "leave it out"
        what = f"is another SELinux {field} than that of containers"
        yield place.finding(what, said, fix, place.set_to(REMOVED))


RULE: Final = Rule(
    id="selinux-options",
    title="Containers keep the SELinux label of containers",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "With a type such as `spc_t`, or a user or role of its own, SELinux no longer keeps the "
        "container from its node. A namespace of the level baseline admits no such pod."
    ),
    fix="Leave out `type`, `user` and `role`; `level` may be set.",
    places=_places,
    check=_check,
    remediates=True,
)
