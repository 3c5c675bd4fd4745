"""Of several replicas exactly one leads, and another one after it."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.fake_api_server.memory import Memory
from tests.fake_api_server.served_kinds import KINDS
from trainer_infra.controller.leader_election import LEASE, LeaderElection, LeaseTerms


def memory() -> Memory:
    return Memory((*KINDS, LEASE))


def election(client: Memory, identity: str, duration: float = 0.6) -> LeaderElection:
    terms = LeaseTerms("lease", "default", identity, duration, duration * 0.6, duration * 0.1)
    return LeaderElection(client, terms)


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await work

    asyncio.run(limited())


async def holder(client: Memory) -> str:
    found = await client.get(LEASE, "lease", "default")
    return str(found["spec"]["holderIdentity"])


def test_of_three_that_begin_at_once_one_leads() -> None:
    async def work() -> None:
        client = memory()
        tasks = [asyncio.create_task(election(client, name).acquire()) for name in "abc"]
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        for each in waiting:
            each.cancel()

    run(work())


def test_a_leader_that_is_not_heard_of_is_followed_and_does_not_lead_any_more() -> None:
    async def work() -> None:
        client = memory()
        first, second = election(client, "first"), election(client, "second")
        await first.acquire()
        await second.acquire()
        assert await holder(client) == "second"
        await first.keep()
        assert await holder(client) == "second"

    run(work())


def test_a_leader_that_renews_is_not_followed_until_it_gives_the_lease_back() -> None:
    async def work() -> None:
        client = memory()
        first, second = (
            LeaderElection(client, LeaseTerms("lease", "default", name, 600.0, 300.0, 0.02))
            for name in ("first", "second")
        )
        await first.acquire()
        kept = asyncio.create_task(first.keep())
        other = asyncio.create_task(second.acquire())
        renewals: set[str] = set()
        while len(renewals) < 10:
            await asyncio.sleep(0.01)
            renewals.add((await client.get(LEASE, "lease", "default"))["spec"]["renewTime"])
        assert not other.done()
        kept.cancel()
        await first.release()
        await other
        assert await holder(client) == "second"
        found = await client.get(LEASE, "lease", "default")
        assert found["spec"]["leaseTransitions"] == 1

    run(work())
