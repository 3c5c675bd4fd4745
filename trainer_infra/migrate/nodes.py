"""What PyTorchJob, XGBoostJob and JAXJob have in common: replicas that become numbered nodes.

For the files of these kinds. The runtime has one job `node`, whose template is the workers'
(the master's where there are none); the TrainJob says how many there are and what they run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate import replica
from trainer_infra.migrate.migration import Note, Parts, V1Job
from trainer_infra.migrate.replica import Defaults, Replica


@dataclass(frozen=True, slots=True)
class Nodes:
    """The replica types of a job as nodes."""

    kept: Replica
    """Whose template all nodes have."""
    first: Replica | None
    """The master, which is node 0; None when there is none."""
    count: int
    """Nodes in all."""


@dataclass(frozen=True, slots=True)
class Framework:
    """What a framework adds to the nodes."""

    name: str
    """Value of the framework label, and the policy of it in mlPolicy."""
    env: Mapping[str, Any]
    """Variables that v1's operator wrote, as `replica.node_template` takes them."""
    filled: Mapping[str, str]
    """Variables that v2's framework fills, and what a note says of one that a user wrote."""


def read_nodes(job: V1Job, defaults: Defaults, *kinds: str) -> Nodes:
    """The nodes of a job whose replica types are `kinds`, the workers last.

    Raises:
        InvalidInput: It has none of them.
    """
    read = (replica.read_replica(job, kind, defaults) for kind in kinds)
    found = [each for each in read if each is not None]
    count = sum(each.replicas for each in found)
    if not count:
        fix = f"write {' or '.join(kinds)}"
        raise InvalidInput([Problem(f"spec.{defaults.field}", "must have replicas", fix=fix)])
    first = found[0] if found[0].path[-1] == "Master" else None
    return Nodes(next(each for each in reversed(found) if each.replicas), first, count)


def node_parts(
    job: V1Job, nodes: Nodes, framework: Framework, *, trainer: JSONObject, notes: Iterable[Note]
) -> Parts:
    """What the job becomes.

    `trainer` has the fields of spec.trainer beside the number of nodes and what they run; `notes` are the
    kind's own.
    """
    limit = job.run_policy.backoff_limit
    template = replica.node_template(nodes.kept, framework.env, framework.filled)
    pod = template["spec"]
    # The training operator wrote them into every container.
    pod["containers"] = [
        each if each["name"] == names.NODE else replica.with_env(each, framework.env)
        for each in pod["containers"]
    ]
    spec = replica.job_spec(nodes.kept, limit, template)
    metadata = {"labels": {names.ANCESTOR_LABEL: names.TRAINER}}
    master = nodes.first if nodes.first is not nodes.kept else None
    return Parts(
        framework=framework.name,
        ml_policy={framework.name: {}},
        jobs=({"name": names.NODE, "template": {"metadata": metadata, "spec": spec}},),
        trainer={"numNodes": nodes.count, **trainer, **replica.what_runs(nodes.kept)},
        pods=nodes.count,
        job_set={},
        notes=(
            *(replica.difference_notes(nodes.kept, master) if master else ()),
            *replica.restart_notes(nodes.kept, limit),
            *nodes.kept.notes,
            *replica.filled_notes(nodes.kept, framework.filled),
            *notes,
        ),
    )


def fixed_parts(job: V1Job, defaults: Defaults, variable: str) -> Note:
    """A note that a number of nodes stands in a variable too."""
    replicas = job.spec[defaults.field].items()
    written = {kind: each.get("replicas", defaults.replicas) for kind, each in replicas}
    advice = f"{variable} is written into the runtime: change it together with trainer.numNodes"
    return Note(("spec", defaults.field), written, advice)
