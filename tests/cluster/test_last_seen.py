"""Pods that failed are known after Kubernetes deleted them, as long as somebody looks."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.cluster.world import RUNNING, container, ended
from tests.fake_api_server.memory import Memory
from trainer_infra import names
from trainer_infra.cluster.last_seen import FailedPod, LastSeenPods
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
