"""A cache follows its objects through whole lists and watches, and says what changed."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.controller.running_manager import memory, until
from tests.fake_api_server.memory import Memory
from tests.kube import objects
from trainer_infra.controller import projection
from trainer_infra.controller.informer import Informer, ObjectCache, ObjectKey
from trainer_infra.kube.client import ObjectSelection
from trainer_infra.kube.resource import CONFIG_MAP


class Followed:
    """An informer of ConfigMaps, and what it said."""

    def __init__(self, client: Memory) -> None:
        self.cache = ObjectCache(projection.without_managers)
        self.said: list[ObjectKey] = []
        selection = ObjectSelection(CONFIG_MAP, "default")
        self.informer = Informer(client, selection, self.cache, self.said.append)

    async def names(self) -> list[str]:
        return sorted(each.name for each in self.cache)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def made(client: Memory, *names: str) -> None:
    for name in names:
        await client.create(objects.config_map("default", name), manager="m")


def test_objects_come_change_and_go() -> None:
    async def work() -> None:
        client = memory()
        await made(client, "a", "b")
        followed = Followed(client)
        task = asyncio.create_task(followed.informer.run())
        await followed.informer.has_synced.wait()
        assert await followed.names() == ["a", "b"]
        await made(client, "c")
        await client.delete(CONFIG_MAP, "a", "default")

        async def is_up_to_date() -> bool:
            return await followed.names() == ["b", "c"]

        await until(is_up_to_date)
        assert [each.name for each in followed.said] == ["a", "b", "c", "a"]
        task.cancel()

    run(work())


def test_after_a_gap_in_its_history_everything_is_listed_again_and_what_went_is_said() -> None:
    async def work() -> None:
        client = Memory(history=2)
        await made(client, "a", "b")
        followed = Followed(client)
        informer = followed.informer
        task = asyncio.create_task(informer.run())
        await informer.has_synced.wait()
        # Without a pause in between the watch does not see these one by one.
        await client.delete(CONFIG_MAP, "a", "default")
        await made(client, *(f"n{number}" for number in range(8)))

        async def is_up_to_date() -> bool:
            return await followed.names() == ["b", *(f"n{number}" for number in range(8))]

        await until(is_up_to_date)
        assert ObjectKey("default", "a") in followed.said
        task.cancel()

    run(work())
