"""TrainJobs that a test submits by the driver itself, without a Pulumi program, and waits for."""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.e2e.cluster import Namespace
from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.runs.run import FINISHED, LogSelection, Owner, Run, RunKey, Submission
from trainer_infra.trainers import compose
from trainer_infra.trainers.code import content_hash
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

LONG = 240.0
"""Seconds in which anything here happens, on a machine that is busy with other tests too."""

OWNER = Owner("proj", "dev", "urn:pulumi:dev::proj::job")


@dataclass(frozen=True)
class Jobs:
    """The runs of one namespace."""

    namespace: Namespace
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of each TrainJob."""
    packages: str = ""
    """Address of the cache in which pods keep packages; empty for one of each pod."""

    @property
    def cluster(self) -> Cluster:
        """The driver."""
        return _cluster(str(self.namespace.kubeconfig))

    def deciding(self) -> Behaviour:
        """What renders its objects."""
        return self.cluster.behaviour(PLUGINS, OWNER)

    def start(
        self,
        runtime: ClusterTrainingRuntime,
        trainer: CustomTrainer | dict[str, Any],
        **spec: Any,
    ) -> Run:
        """Submit a TrainJob `tj`; `spec` holds further fields of its spec, as on the wire."""
        code = None
        if isinstance(trainer, CustomTrainer):
            packed = trainer.pack()
            trainer, code = packed.trainer, packed.code
        job = {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {
                "name": "tj",
                "namespace": self.namespace.name,
                "labels": dict(self.labels),
            },
            "spec": {"runtimeRef": {"name": runtime.metadata.name}, "trainer": trainer, **spec},
        }
        deciding = replace(self.deciding(), package_cache=self.packages)
        made = compose.compose(job, runtime, code, (), deciding)
        return self.cluster.submit(
            Submission(
                job=made.job.to_wire(),
                runtime=runtime.to_wire(),
                objects=made.objects,
                secret_data={},
                packages=(),
                owner=OWNER,
                content=content_hash(job),
            )
        )

    def now(self) -> Run:
        """The run as it is now."""
        run = self.cluster.get(self.namespace.name, "tj")
        assert run is not None
        return run

    def finished(self) -> Run:
        """The run once it has ended."""
        eventually(lambda: self.now().phase in FINISHED)
        return self.now()

    def run(
        self,
        runtime: ClusterTrainingRuntime,
        trainer: CustomTrainer | dict[str, Any],
        **spec: Any,
    ) -> Run:
        """Submit and wait until it has ended."""
        self.start(runtime, trainer, **spec)
        return self.finished()

    def delete(self) -> None:
        """Remove the run."""
        run = self.now()
        assert self.cluster.delete(RunKey(run.namespace, run.name, run.uid, OWNER)) == ""
        eventually(lambda: self.cluster.get(self.namespace.name, "tj") is None)

    def lines(self) -> list[str]:
        """Every line that its pods have printed."""
        return [
            line for _, line in self.cluster.logs(RunKey(self.namespace.name, "tj"), LogSelection())
        ]

    def jobset_status(self) -> dict[str, Any]:
        """What JobSet says."""
        ((status),) = [each["status"] for each in self.namespace.all("jobsets")]
        return dict(status)


@functools.cache
def _cluster(kubeconfig: str) -> Cluster:
    return Cluster(kubeconfig)


def eventually(what: Callable[[], Any], within: float = LONG) -> Any:
    """The first true value of `what`, which comes in so many seconds."""
    until = time.monotonic() + within
    while not (value := what()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.3)
    return value
