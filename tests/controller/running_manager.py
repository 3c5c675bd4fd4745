"""A manager on an API server in memory, and a user, JobSet's controller and the clock beside it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.fake_api_server.memory import Memory
from tests.fake_api_server.served_kinds import KINDS
from trainer_infra import catalog
from trainer_infra.controller import configuration
from trainer_infra.controller.configuration import ControllerConfiguration
from trainer_infra.controller.leader_election import LEASE
from trainer_infra.controller.manager import Manager, ManagerSettings
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import EVENT, JOBSET, TRAIN_JOB, Resource
from trainer_infra.render.behaviour import OURS, Behaviour

NAMESPACE = "default"
ENDED = {
    "type": "Completed",
    "status": "True",
    "reason": "AllJobsCompleted",
    "message": "jobset completed successfully",
    "lastTransitionTime": "2026-11-26T00:00:00Z",
}


def memory() -> Memory:
    return Memory((*KINDS, LEASE))


def train_job(name: str = "tj", runtime: str = "jax-distributed", **spec: Any) -> JSONObject:
    return {
        "apiVersion": TRAIN_JOB.api_version,
        "kind": TRAIN_JOB.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"runtimeRef": {"name": runtime}, **spec},
    }


async def add_runtime(client: KubeClient, name: str = "jax-distributed") -> None:
    await client.create(catalog.get(name).to_wire(), manager="admin")


def without_servers(changes: Mapping[str, Any] | None = None) -> ControllerConfiguration:
    """A configuration of a controller that listens nowhere, with changes."""
    quiet = {
        "metrics": configuration.MetricsSettings(bind_address="0"),
        "health": configuration.HealthSettings(health_probe_bind_address="0"),
        "webhook": configuration.WebhookSettings(host="127.0.0.1", port=0),
        "cert_management": configuration.CertificateSettings(enable=False),
    }
    return configuration.DEFAULT.model_copy(update={**quiet, **(changes or {})})


@asynccontextmanager
async def running(client: KubeClient, behaviour: Behaviour = OURS) -> AsyncIterator[Manager]:
    """A manager at work; it has ended afterwards."""
    manager = Manager(client, ManagerSettings(without_servers(), behaviour))
    work = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        manager.stop()
        await work


async def until(found: Callable[[], Any]) -> Any:
    """The first value that counts of what is asked again and again."""
    async with asyncio.timeout(60):
        while True:
            with suppress(NotFound):
                value = await found()
                if value:
                    return value
            await asyncio.sleep(0.005)


async def there(client: KubeClient, resource: Resource, name: str = "tj") -> JSONObject:
    """The object, once it is there."""
    found: JSONObject = await until(lambda: client.get(resource, name, NAMESPACE))
    return found


async def events(client: KubeClient, reason: str) -> list[JSONObject]:
    found = (await client.list(ObjectSelection(EVENT, NAMESPACE))).items
    return [each for each in found if each["reason"] == reason]


async def with_condition(client: KubeClient, kind: str, name: str = "tj") -> JSONObject:
    """The condition of a TrainJob, once it has it."""

    async def found() -> JSONObject | None:
        status = (await client.get(TRAIN_JOB, name, NAMESPACE)).get("status") or {}
        kept = (each for each in status.get("conditions") or () if each["type"] == kind)
        return next(kept, None)

    condition: JSONObject = await until(found)
    return condition


async def is_settled(client: KubeClient, manager: Manager, name: str = "marker") -> None:
    """Return when all that happened before has been looked at: a TrainJob made now has its JobSet."""
    await client.create(train_job(name), manager="user")
    await there(client, JOBSET, name)

    async def idle() -> bool:
        state = manager.queue.state()
        return not state.ready and not state.running

    await until(idle)


async def job_set_ends(client: KubeClient, name: str = "tj", **condition: str) -> None:
    """JobSet's controller says that the JobSet has ended."""
    value = {
        "apiVersion": JOBSET.api_version,
        "kind": JOBSET.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "status": {"conditions": [{**ENDED, **condition}]},
    }
    await client.patch_status(value, manager="jobset-controller")


async def completed(client: KubeClient) -> JSONObject:
    """A TrainJob's condition Complete, after its whole life."""
    await client.create(train_job(), manager="user")
    await there(client, JOBSET)
    await job_set_ends(client)
    return await with_condition(client, "Complete")
