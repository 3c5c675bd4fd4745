"""preemptible-checkpoints: what may be taken away at any time writes checkpoints that stay.

A job is on preemptible machines where its node selector says so in the words of a cloud or of
Karpenter, where all flavors of its queue do, or where all pools that it may use are declared so. It
can keep checkpoints where a container that trains has a volume that outlives the pod, or names an
object store for its results.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.placement import amounts, machines, patches, queue_objects
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_SPOT: Final[Mapping[str, str]] = {
    "cloud.google.com/gke-spot": "true",
    "cloud.google.com/gke-preemptible": "true",
    "eks.amazonaws.com/capacityType": "SPOT",
    "karpenter.sh/capacity-type": "spot",
    "kubernetes.azure.com/scalesetpriority": "spot",
}
"""Labels of machines that can be taken away."""


def _check(place: OutputJob, context: Context[Parameters]) -> Iterator[Finding]:
    patches.be_known(context.subject)
    reason = _reason(place.container.pod, context)
    if not reason or output.keeps(place):
        return
    found = output.outputs(place.container.value, output.VARIABLES, output.OPTIONS)
    if any(output.fate(each.folder, place) in output.SAFE for each in found):
        return
    where = patches.place(place.container.value["volumeMounts"], context.subject)
    what = f"has nothing that outlives the pod, so checkpoints are lost when {reason} goes away"
    yield where.finding(what, fix="mount a persistentVolumeClaim and write checkpoints to it")


def _reason(pod: Pod, context: Context[Parameters]) -> str:
    """The machine that can be taken away; empty where it may be another one."""
    if _is_spot(pod.spec["nodeSelector"]):
        return "the spot machine of its node selector"
    flavors = queue_objects.flavors(context.subject, context.world)
    chosen = [each for each in flavors or () if each.selected(pod)]
    if chosen and all(_is_spot(each.spec["nodeLabels"]) for each in chosen):
        return f"a machine of flavor {chosen[0].name}"
    asked = amounts.amounts_of(pod, context.subject) if context.world.pools else {}
    pools = machines.usable_pools(pod, asked, context.subject, context.world)
    if pools and all(each.preemptible for each in pools):
        return f"a machine of pool {pools[0].name}"
    return ""


def _is_spot(labels: Value) -> bool:
    return any(_SPOT.get(key) == each.text() for key, each in labels.fields() if key in _SPOT)


RULE: Final = Rule(
    id="preemptible-checkpoints",
    title="Jobs on preemptible machines keep checkpoints",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("scheduling", "cost", "checkpoints"),
    why="Each time a machine is taken away training starts anew, and all hours until then are lost.",
    fix="Mount a volume that outlives the pod and write checkpoints to it, or use other machines.",
    places=output.jobs,
    check=_check,
    looks_around=True,
)
