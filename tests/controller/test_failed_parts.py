"""A part of the controller that fails by a mistake of ours ends all of it: nothing is missing for long."""

import asyncio
import logging

import pytest

from tests.controller.running_manager import (
    NAMESPACE,
    add_runtime,
    events,
    memory,
    there,
    train_job,
    without_servers,
)
from trainer_infra import names
from trainer_infra.controller.admission_webhooks import CertificateFiles
from trainer_infra.controller.configuration import LeaderElectionSettings
from trainer_infra.controller.event_recorder import EventRecorder
from trainer_infra.controller.informer import Informer
from trainer_infra.controller.leader_election import LEASE, LeaderElection
from trainer_infra.controller.manager import Manager, ManagerSettings
from trainer_infra.controller.plugin_watches import PluginWatches
from trainer_infra.controller.runtime_finalizer import RuntimeFinalizers
from trainer_infra.errors import Bug
from trainer_infra.kube.resource import JOBSET
from trainer_infra.render.behaviour import OURS

ELECTED = LeaderElectionSettings(leader_elect=True, resource_namespace=NAMESPACE)
PARTS = (
    (Informer, "_watch"),
    (CertificateFiles, "run"),
    (EventRecorder, "run"),
    (RuntimeFinalizers, "run"),
    (PluginWatches, "run"),
    (LeaderElection, "keep"),
)


@pytest.mark.parametrize(("part", "method"), PARTS, ids=lambda each: getattr(each, "__name__", ""))
def test_all_of_it_ends_and_says_so(
    part: type, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_arguments: object) -> None:
        await asyncio.sleep(0)
        raise KeyError("resourceVersion")

    async def work() -> None:
        settings = without_servers({"leader_election": ELECTED})
        async with asyncio.timeout(60):
            await Manager(memory(), ManagerSettings(settings, OURS)).run()

    monkeypatch.setattr(part, method, fail)
    with caplog.at_level(logging.ERROR), pytest.raises(Bug, match="please report it") as raised:
        asyncio.run(work())
    assert isinstance(raised.value.__cause__, KeyError)
    logged = next(each for each in caplog.records if "please report it" in each.message)
    assert logged.exc_info


def test_a_leader_that_fails_finishes_its_looks_and_lets_another_lead_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = memory()

    async def fail(_self: object) -> None:
        await there(client, JOBSET)
        raise KeyError("resourceVersion")

    async def work() -> None:
        await add_runtime(client)
        await client.create(train_job(), manager="user")
        settings = without_servers({"leader_election": ELECTED})
        with pytest.raises(Bug):
            await Manager(client, ManagerSettings(settings, OURS)).run()
        lease = await client.get(LEASE, ELECTED.resource_name, NAMESPACE)
        assert lease["spec"]["holderIdentity"] == ""
        assert await events(client, names.EVENT_CREATED)

    monkeypatch.setattr(PluginWatches, "run", fail)
    asyncio.run(work())
