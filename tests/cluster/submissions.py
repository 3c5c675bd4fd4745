"""Submissions for the tests of this folder, composed as an engine composes them."""

from dataclasses import dataclass, field, replace
from typing import Any

from trainer_infra import catalog, names
from trainer_infra.api.runtime import Runtime
from trainer_infra.cluster.controller.engine_controller import controller_behaviour
from trainer_infra.cluster.provider.engine_provider import provider_behaviour
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.runs.run import Owner, Submission
from trainer_infra.trainers import compose
from trainer_infra.trainers.code import Code

OWNER = Owner("digits", "dev", "urn:pulumi:dev::digits::pulumi-python:trainer:TrainJob::tj")
OTHER = replace(OWNER, stack="prod", urn=OWNER.urn.replace(":dev:", ":prod:"))
SECRET = "correct horse battery staple"
CODE = Code({"main.py": "print('training')\n"}, (), secret_args=False)


@dataclass
class Job:
    """What a test submits; `submission()` is it as a driver gets it."""

    namespace: str
    name: str = "tj"
    runtime: str = "torch-distributed"
    code: Code | None = CODE
    secrets: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    job_spec: dict[str, Any] = field(default_factory=dict)
    """Fields of the runtime's first JobSpec."""
    pod_spec: dict[str, Any] = field(default_factory=dict)
    """Fields of its PodSpec."""
    jobset_spec: dict[str, Any] = field(default_factory=dict)
    """Fields of its JobSetSpec."""
    owner: Owner = OWNER
    content: str = "c1"
    engine: str = "provider"

    def submission(self) -> Submission:
        job = {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {"name": self.name, "namespace": self.namespace, **self.metadata},
            "spec": {"runtimeRef": {"name": self.runtime}, **self.spec},
        }
        behaviour = controller_behaviour if self.engine == "controller" else provider_behaviour
        made = compose.compose(
            job, self._runtime(), self.code, self.secrets, behaviour(PLUGINS, self.owner)
        )
        return Submission(
            job=made.job.to_wire(),
            runtime=made.runtime.to_wire(),
            objects=made.objects,
            secret_data=self.secrets,
            packages=(),
            owner=self.owner,
            content=self.content,
        )

    def _runtime(self) -> Runtime:
        runtime = catalog.get(self.runtime)
        wire = runtime.to_wire()
        jobset_spec = wire["spec"]["template"]["spec"]
        jobset_spec.update(self.jobset_spec)
        spec = jobset_spec["replicatedJobs"][0]["template"]["spec"]
        spec.update(self.job_spec)
        spec["template"]["spec"].update(self.pod_spec)
        return type(runtime).from_wire(wire)
