"""Pods that failed are known after Kubernetes deleted them, as long as somebody looks."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from typing_extensions import override

from tests.cluster.world import RUNNING, container, ended
from tests.fake_api_server.memory import Memory
from trainer_infra import names
from trainer_infra.cluster.session import FailedPod, LastSeenPods
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import LogOf
from trainer_infra.kube.resource import POD

JOBSET = {"metadata": {"uid": "u1"}, "status": {"restarts": 1}}


def pod(name: str, state: dict[str, Any], attempt: str = "1") -> dict[str, Any]:
    labels = {
        names.JOBSET_NAME_LABEL: "tj",
        names.JOBSET_UID_LABEL: "u1",
        names.RESTART_ATTEMPT_LABEL: attempt,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "node", "image": "none"}]},
        "status": {"phase": "Running", "containerStatuses": [container(state)]},
    }


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(15):
        while not (value := condition()):  # noqa: ASYNC110  what is asked has no event
            await asyncio.sleep(0.01)
        return value


def test_a_failed_pod_is_known_with_its_last_lines_after_it_was_deleted() -> None:
    async def story() -> dict[str, FailedPod]:
        client = Memory()
        seen = LastSeenPods(client)
        assert seen.failed_pods("default", JOBSET) == {}
        for each in (pod("good", RUNNING), pod("bad", ended(3)), pod("old", ended(3), "0")):
            await client.create(each, manager="kubelet")
            client.write_log("default", each["metadata"]["name"], "the last line", "node")
            await client.patch_status(each, manager="kubelet")
        await until(
            lambda: any(each.lines for each in seen.failed_pods("default", JOBSET).values())
        )
        await client.delete(POD, "bad", "default")
        await asyncio.sleep(0.1)
        found = seen.failed_pods("default", JOBSET)
        await client.close()
        return found

    found = asyncio.run(story())
    assert list(found) == ["bad"], "of the present try, and only those that failed"
    assert found["bad"].lines == ("the last line",)
    assert found["bad"].pod["status"]["containerStatuses"] == [container(ended(3))]


class SlowKubelet(Memory):
    """A cluster whose kubelet sends no log until it may, and at first perhaps an error."""

    def __init__(self, *, refusals: int = 0) -> None:
        super().__init__()
        self.refusals = refusals
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    @override
    async def logs(self, wanted: LogOf) -> AsyncGenerator[str, None]:
        """The log, once it may be sent, or an error."""
        self.asked.set()
        await self.may_answer.wait()
        if self.refusals:
            self.refusals -= 1
            raise NotAvailable(f"the kubelet does not send {wanted}")
        yield "the last line"


async def watched_failure(client: SlowKubelet, bad: dict[str, Any]) -> LastSeenPods:
    """What is seen of a pod that has failed, while its log is being read."""
    seen = LastSeenPods(client)
    seen.look("default")
    await client.create(bad, manager="kubelet")
    await client.patch_status(bad, manager="kubelet")
    await client.asked.wait()
    return seen


def test_last_lines_that_are_being_read_when_the_run_ends_are_awaited() -> None:
    async def story() -> tuple[str, ...]:
        client = SlowKubelet()
        seen = await watched_failure(client, pod("bad", ended(3)))
        failed = seen.failed_pods("default", JOBSET)["bad"]
        assert failed.lines == ()
        asyncio.get_running_loop().call_later(0.1, client.may_answer.set)
        lines = await seen.last_lines(failed.pod)
        await seen.close()
        return lines

    assert asyncio.run(story()) == ("the last line",)


def test_a_log_that_could_not_be_read_is_read_again_at_the_next_change_of_the_pod() -> None:
    async def story() -> tuple[str, ...]:
        client, bad = SlowKubelet(refusals=1), pod("bad", ended(3))
        seen = await watched_failure(client, bad)
        client.may_answer.set()
        await until(lambda: not client.refusals)
        assert await seen.last_lines(seen.failed_pods("default", JOBSET)["bad"].pod) == ()
        status = {**bad["status"], "phase": "Failed"}
        await client.patch_status({**bad, "status": status}, manager="kubelet")
        lines = await until(lambda: seen.failed_pods("default", JOBSET)["bad"].lines)
        await seen.close()
        return tuple(lines)

    assert asyncio.run(story()) == ("the last line",)
