"""spec.template.spec.replicatedJobs of the shipped runtimes: the shapes that several of them share.

For the files of the runtime families; each call returns a new value.
"""

from typing import Any

from trainer_infra import names
from trainer_infra.json_values import JSONDict


def replicated_job(
    name: str, container: JSONDict, ancestor: str | None = None, **pod: Any
) -> JSONDict:
    """A replicated job of one container.

    Args:
        name: the replicated job's name.
        container: the Container object.
        ancestor: value of the ancestor label on the Job template; None for no label.
        pod: further fields of the PodSpec, in wire form; they come before the container.
    """
    metadata = {"metadata": {"labels": {names.ANCESTOR_LABEL: ancestor}}} if ancestor else {}
    pod_template = {"spec": {**pod, "containers": [container]}}
    return {"name": name, "template": {**metadata, "spec": {"template": pod_template}}}


def node_job(image: str, **container: Any) -> JSONDict:
    """The job `node_job` that trains: one container of that image, with these further fields."""
    return replicated_job(
        names.NODE, {"name": names.NODE, "image": image, **container}, names.TRAINER
    )


def depends_on(replicated_job: JSONDict, status: str, *jobs: str) -> JSONDict:
    """The replicated job, started when those before it have reached that status."""
    name, template = replicated_job["name"], replicated_job["template"]
    depends_on = [{"name": each, "status": status} for each in jobs]
    return {"name": name, "dependsOn": depends_on, "template": template}
