"""The protocol of a client of an API server, which every driver on Kubernetes is written against.

`http.connect_client` makes the real one; tests have one without a server, and one contract keeps both
(tests/kube/contract). Objects are JSON in wire form, and what comes back belongs to the caller. Every
method may raise `refusals.Unreachable`, `refusals.NotKubernetes`, `refusals.NotServed` and the refusals it
names.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Protocol

from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import Resource

PAGE: Final = 500
"""Objects of one page of a list."""

Propagation = Literal["Background", "Foreground", "Orphan"]
"""What becomes of the objects that a deleted one owns."""


@dataclass(frozen=True, slots=True)
class Page:
    """Objects of a list: all of them, or one page."""

    items: tuple[JSONObject, ...]
    """With `apiVersion` and `kind`, which a server leaves out of lists."""
    resource_version: str
    """Where a watch of the same objects begins."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One event of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    value: JSONObject
    """The object as it is now, or was last; of a bookmark only its resourceVersion."""


@dataclass(frozen=True, slots=True)
class ObjectSelection:
    """Which objects of a kind."""

    resource: Resource
    namespace: str = ""
    """Empty for every namespace."""
    labels: str = ""
    """Label selector, for example `a=b,c in (d,e)`."""
    fields: str = ""
    """Field selector, for example `metadata.name=a`."""


@dataclass(frozen=True, slots=True)
class LogOf:
    """Which lines of a container's log."""

    namespace: str
    pod: str
    container: str = ""
    """Empty where the pod has one."""
    follow: bool = False
    """Go on until the container ends."""
    tail: int | None = None
    """Only the last lines, as many."""
    since: str = ""
    """RFC 3339 time: only lines since then. Where set, each line begins with its own time."""
    previous: bool = False
    """The log of the try before."""


class KubeClient(Protocol):
    """A client; all methods are safe to call concurrently in one event loop."""

    @property
    def server(self) -> str:
        """The server's URL, for messages."""

    def now(self) -> datetime:
        """The time by the server's clock, as far as it is known: what its objects' times are times of."""
        return datetime.now(UTC)

    def within(self, seconds: float) -> "KubeClient":
        """This client for requests that all have an answer, or an error that says why not, by then.

        It shares the connections; only one of the two is closed. Where no reason is known, because
        nothing at all came or it is too late to ask, a request raises TimeoutError.
        """

    async def resource(self, api_version: str, kind: str) -> Resource:
        """A kind as the server serves it, asked once.

        Raises:
            NotServed: The server does not know it.
        """

    async def get(self, resource: Resource, name: str, namespace: str = "") -> JSONObject:
        """One object.

        Raises:
            NotFound: There is none of that name.
        """

    async def list(self, selection: ObjectSelection) -> Page:
        """All selected objects, read in pages of `PAGE`; a list that expires half way begins anew."""

    def pages(self, selection: ObjectSelection) -> AsyncGenerator[Page, None]:
        """The same page by page, for who keeps less than the objects; at least one page comes.

        Raises:
            Expired: It took too long: begin anew.
        """

    async def create(self, value: JSONObject, *, manager: str, dry_run: bool = False) -> JSONObject:
        """A new object, as stored.

        Raises:
            Exists: There is one of that name.
            NotFound: Its namespace does not exist.
            Invalid: What it says cannot be.
        """

    async def apply(
        self, value: JSONObject, *, manager: str, force: bool = False, dry_run: bool = False
    ) -> JSONObject:
        """Server-side apply: the object as stored; created where it is missing.

        With a `metadata.resourceVersion` or `metadata.uid` it is applied to that one only; where
        there is none, a resourceVersion does not keep the server from making it anew, a uid does.

        Raises:
            Conflict: Others own a field and have another value, and not `force`; or it is another
                version or another object.
            Invalid: What it says cannot be, or changes what cannot change.
        """

    async def merge(self, value: JSONObject, *, manager: str) -> JSONObject:
        """JSON merge patch (RFC 7386) of an object that exists: the object as stored.

        A field that is given replaces the stored one, with any owner, and None removes it; one left
        out stays. With a `metadata.resourceVersion` it changes that version only.

        Raises:
            NotFound: The object does not exist.
            Conflict: It is another version.
            Invalid: What it says cannot be, or changes what cannot change.
        """

    async def patch_status(
        self, value: JSONObject, *, manager: str, force: bool = True
    ) -> JSONObject:
        """As `apply`, of the status subresource of an object that exists.

        Of a custom resource a `metadata.uid` is not looked at.

        Raises:
            NotFound: The object, or the subresource of its kind, does not exist.
        """

    async def merge_status(self, value: JSONObject, *, manager: str) -> JSONObject:
        """As `merge`, of the status subresource.

        Raises:
            NotFound: The object, or the subresource of its kind, does not exist.
        """

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        propagation: Propagation = "Background",
    ) -> None:
        """Begin to delete an object; it is gone when its finalizers are done.

        Raises:
            NotFound: There is none of that name.
            Conflict: It has another uid.
        """

    def watch(self, selection: ObjectSelection, since: str) -> AsyncGenerator[ObjectChange, None]:
        """Changes after the resourceVersion `since`, with bookmarks, without an end.

        A lost connection is resumed where it broke, as often as needed.

        Raises:
            Expired: `since` is too long ago: list again.
        """

    def logs(self, wanted: LogOf) -> AsyncGenerator[str, None]:
        """The lines of a container's log, without their line ends.

        Raises:
            NotFound: There is no such pod.
            Invalid: Its container has not started, or has no such name.
        """

    async def close(self) -> None:
        """End every connection."""
