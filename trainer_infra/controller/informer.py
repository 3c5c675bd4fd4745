"""One kind of object, followed from a paged list through watches that resume.

The manager runs one for each kind. It fills a cache and says which objects changed. It never ends by
itself: what the API server refuses, or an API server that is away, is logged and tried again.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from trainer_infra.controller.object_cache import ObjectCache, ObjectKey, key_of
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Expired

PAUSE: Final = 5.0
"""Seconds before another try where the API server says no."""

_log: Final = logging.getLogger(__name__)


class Informer:
    """Follows the objects of one selection."""

    def __init__(
        self,
        client: KubeClient,
        selection: ObjectSelection,
        cache: ObjectCache,
        changed: Callable[[ObjectKey], None],
    ) -> None:
        """Nothing is asked yet.

        Args:
            client: of the cluster.
            selection: which objects.
            cache: what keeps them.
            changed: called with the place of each object that is new, another or gone.
        """
        self.has_synced: Final = asyncio.Event()
        """Set once the cache holds a whole list."""
        self._client = client
        self._selection = selection
        self._cache = cache
        self._changed = changed

    async def run(self) -> None:
        """Follow them until this is cancelled."""
        plural = self._selection.resource.plural
        while True:
            try:
                await self._watch(await self._list())
            except Expired:
                _log.info("the watch of %s is too old; they are listed again", plural)
            except TrainerInfraError as error:
                _log.error("cannot follow %s: %s", plural, error)
                await asyncio.sleep(PAUSE)

    async def _list(self) -> str:
        """Take over a whole list, page by page; its resourceVersion."""
        version, keys = "", set[ObjectKey]()
        async with aclosing(self._client.pages(self._selection)) as pages:
            async for page in pages:
                version = page.resource_version
                for value in page.items:
                    keys.add(key_of(value))
                    self._put(value)
        for key in self._cache.keep_only(keys, int(version)):
            self._changed(key)
        self.has_synced.set()
        return version

    async def _watch(self, since: str) -> None:
        async with aclosing(self._client.watch(self._selection, since)) as changes:
            async for change in changes:
                if change.type == "DELETED":
                    if self._cache.remove(change.value):
                        self._changed(key_of(change.value))
                elif change.type != "BOOKMARK":
                    self._put(change.value)

    def _put(self, value: JSONObject) -> None:
        if self._cache.put(value):
            self._changed(key_of(value))
