"""A cluster in memory with what the kubelet and JobSet would write, for tests of many cases."""

from dataclasses import dataclass, field
from typing import Any

from tests.cluster.submissions import Job
from tests.cluster.world import RUNNING, container, ended
from tests.fake_api_server.memory import Memory
from trainer_infra import names
from trainer_infra.cluster import run_lookup, submit
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.cluster.session import Session
from trainer_infra.kube.resource import JOBSET
from trainer_infra.runs.run import Run, RunKey

KUBELET = "kubelet"


@dataclass
class Small:
    """Namespace `default` of a cluster in memory."""

    client: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.session = Session(self.client, "memory", RECORDS)

    async def submit(self, job: Job | None = None) -> Run:
        await submit.submit_run(self.client, RECORDS, (job or Job("default")).submission())
        return await self.now()

    async def now(self) -> Run:
        found = await run_lookup.at_one(self.session, RunKey("default", "tj"))
        assert found is not None
        return found

    async def pod(self, name: str = "tj-node-0-0-abcde", **status: Any) -> None:
        """A pod with this status; made where it is missing."""
        job, index = name.split("-")[-3:-1]
        labels = {
            names.JOBSET_NAME_LABEL: "tj",
            names.REPLICATED_JOB_LABEL: "node",
            names.JOB_INDEX_LABEL: job,
            names.COMPLETION_INDEX: index,
        }
        head = {"apiVersion": "v1", "kind": "Pod"}
        metadata = {"name": name, "namespace": "default"}
        spec = {"containers": [{"name": "node", "image": "none"}]}
        whole = {**head, "metadata": {**metadata, "labels": labels}, "spec": spec}
        await self.client.apply(whole, manager="job-controller", force=True)
        await self.client.patch_status(
            {**head, "metadata": metadata, "status": status}, manager=KUBELET
        )

    async def runs(self, name: str = "tj-node-0-0-abcde") -> None:
        await self.pod(name, phase="Running", containerStatuses=[container(RUNNING)])

    async def exits(self, code: int, name: str = "tj-node-0-0-abcde", message: str = "") -> None:
        phase = "Failed" if code else "Succeeded"
        state = ended(code, "Error" if code else "Completed", message)
        await self.pod(name, phase=phase, containerStatuses=[container(state)])
        self.client.end_log("default", name, "node")

    def says(self, *lines: str, pod: str = "tj-node-0-0-abcde") -> None:
        for line in lines:
            self.client.write_log("default", pod, line, "node")

    async def ends(self, kind: str) -> None:
        """The JobSet's terminal condition."""
        reason, message = names.ALL_JOBS_COMPLETED if kind == "Completed" else names.FAILED_JOBS
        condition = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2026-11-21T12:01:00Z",
        }
        value = {
            "apiVersion": names.JOBSET_API_VERSION,
            "kind": names.JOBSET,
            "metadata": {"name": "tj", "namespace": "default"},
            "status": {"conditions": [condition]},
        }
        await self.client.patch_status(value, manager="jobset")

    async def jobset(self) -> Any:
        return await self.client.get(JOBSET, "tj", "default")
