"""One entry of `spec.replicatedJobs` with the defaults that Kubernetes gives it.

The lowest file of this folder: everything else here reads a JobSetSpec through it, so that the
defaults of JobSet's and batch/v1's API are written once.
"""

from dataclasses import dataclass

from trainer_infra.json_values import JSONObject


@dataclass(frozen=True, slots=True)
class ReplicatedJob:
    """A replicated job: `replicas` equal Jobs."""

    name: str
    replicas: int
    """How many Jobs; 1 when not given."""
    parallelism: int
    """How many pods of a Job run at a time; 1 when not given."""
    completions: int
    """How many indexes of a Job must succeed; `parallelism` when not given."""
    spec: JSONObject
    """The Job's spec as it is written."""
    template: JSONObject
    """The Job's metadata and spec (JobTemplateSpec) as they are written."""
    depends_on: tuple[tuple[str, str], ...]
    """Name of an earlier replicated job, and the state it must reach: `Ready` or `Complete`."""
    group: str
    """`groupName`; `default` when not given."""

    @property
    def width(self) -> int:
        """How many ready or succeeded pods make a Job ready: the pods that can run at a time."""
        return min(self.parallelism, self.completions)

    @property
    def retries_in_place(self) -> bool:
        """Its pods restart their containers (OnFailure, JobSet's default) instead of failing."""
        policy: str = self.pod_spec.get("restartPolicy") or "OnFailure"
        return policy == "OnFailure"

    @property
    def pod_spec(self) -> JSONObject:
        """The pod template's spec."""
        return self.pod_template.get("spec") or {}

    @property
    def pod_template(self) -> JSONObject:
        """The pod template."""
        return self.spec.get("template") or {}


def read_jobs(spec: JSONObject) -> tuple[ReplicatedJob, ...]:
    """The replicated jobs of a JobSetSpec, in their order."""
    return tuple(_read(entry) for entry in spec.get("replicatedJobs") or ())


def _read(entry: JSONObject) -> ReplicatedJob:
    template = entry.get("template") or {}
    spec = template.get("spec") or {}
    parallelism = _count(spec.get("parallelism"), 1)
    return ReplicatedJob(
        name=entry["name"],
        replicas=_count(entry.get("replicas"), 1),
        parallelism=parallelism,
        completions=_count(spec.get("completions"), parallelism),
        spec=spec,
        template=template,
        depends_on=tuple((on["name"], on["status"]) for on in entry.get("dependsOn") or ()),
        group=entry.get("groupName") or "default",
    )


def _count(value: float | None, default: int) -> int:
    """`value` unless it is not given: 0 is a value, and Pulumi's numbers are floats."""
    return default if value is None else int(value)


def job_name(jobset: str, job: str, replica: int) -> str:
    """The name of one Job: `<jobset>-<job>-<replica>`."""
    return f"{jobset}-{job}-{replica}"
