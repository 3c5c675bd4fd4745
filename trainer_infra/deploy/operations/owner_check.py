"""Whose installation a cluster has: check, diff, create and read, and the record of it.

Where objects may be taken over (`kubernetes:upsertExistingObjects`, `adopt`), a component under a new
name or parent takes over what it had under the old one; then the engine deletes the old one's objects,
which are the same, and the state says that all is there. Two stacks of one cluster take each other's
in the same way. So a guard records itself on the namespaces of its component, and this check, which
every object of a component depends on, refuses at preview what another guard has recorded.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.properties import ResourceProperties, urn_place
from trainer_infra.deploy.operations.session import Connection, StackSession
from trainer_infra.deploy.operations.values import differing
from trainer_infra.errors import NotAvailable, Problem, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import NAMESPACE

COMPONENT: Final = "trainer-infra.dev/component"
"""Annotation of a namespace: URN of the component whose guard watches over it."""
_MANAGER: Final = "trainer-infra-owner"
"""Not that of the component's objects: it would take the annotation away again."""
_IN_PLACE: Final = ("namespaces", "urn", "kubeconfig", "context")


class InstallationProperties(ResourceProperties):
    """What a component installs, and where."""

    __slots__ = ()

    @property
    def namespaces(self) -> Sequence[str]:
        """Those that the component makes."""
        return tuple(self.json.get("namespaces") or ())

    @property
    def component(self) -> str:
        """URN of the component: that of a child of it, `COMPONENT:guard`, without the child."""
        head, project, types, name = self.urn.split("::", 3)
        return "::".join((head, project, types.rpartition("$")[0], name.rpartition(":")[0]))

    @property
    def connection(self) -> Connection | None:
        """How the cluster is reached, where the program says it."""
        named = self.json.get("kubeconfig"), self.json.get("context")
        return Connection(*named) if any(named) else None


@asynccontextmanager
async def installation_cluster(
    installed: InstallationProperties, session: StackSession
) -> AsyncIterator[KubeClient]:
    """The cluster that has it."""
    reached = installed.connection or session.connection_now(installed)
    client = await http.connect_client(reached.kubeconfig, reached.context)
    try:
        yield client
    finally:
        await client.close()


def check(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    """Refuse what belongs to another component, unless the state knows that it is this one's."""
    wanted = InstallationProperties(news)
    if olds:
        return CheckAnswer(news)

    async def owners() -> Mapping[str, str]:
        async with installation_cluster(wanted, session) as client:
            return {each: await _owner(client, each) for each in wanted.namespaces}

    try:
        known = loop.run_in_loop(owners())
    except NotAvailable:
        # A cluster that is not there yet has no owner; Kubernetes' plugin says what else is wrong.
        return CheckAnswer(news)
    return CheckAnswer(news, tuple(_problems(wanted.component, known)))


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:  # noqa: ARG001  as the others
    """Everything can be edited in place."""
    return Difference(bool(differing(_IN_PLACE, olds, news)))


def create(given: JSONObject, session: StackSession) -> CreateAnswer:  # noqa: ARG001  as the others
    """Nothing: the guard records the component once all of it is there."""
    return CreateAnswer("owner", given)


def read(state: JSONObject, session: StackSession) -> Present | None:  # noqa: ARG001  as the others
    """It is nothing but what the state has."""
    return Present(state)


def update(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:  # noqa: ARG001  the same
    """Nothing, as `create`."""
    return news


def delete(state: JSONObject, session: StackSession) -> None:
    """Nothing: the guard took its record with it."""


async def record_owner(
    client: KubeClient, installed: InstallationProperties, *, gone: bool = False
) -> None:
    """Write the component on its namespaces, over what stood there before; or take it off where it is gone."""
    for each in installed.namespaces:
        if uid := (await namespace_metadata(client, each)).get("uid"):
            annotations = {} if gone else {COMPONENT: installed.component}
            metadata = {"name": each, "uid": uid, "annotations": annotations}
            value = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            await client.apply(value, manager=_MANAGER, force=True)


async def judge_owner(client: KubeClient, installed: InstallationProperties) -> None:
    """See that no other component has taken over the namespaces.

    Raises:
        Refused: One has; what is in them is its own now.
    """
    for each in installed.namespaces:
        if (owner := await _owner(client, each)) not in ("", installed.component):
            raise Refused(
                f"namespace {each} belongs to {_said(owner)} by now, whose objects would be deleted; run "
                f"`pulumi state delete '{installed.component}' --target-dependents` to forget them here"
            )


async def namespace_metadata(client: KubeClient, name: str) -> JSONObject:
    """Metadata of a namespace; empty where there is none."""
    try:
        found: JSONObject = (await client.get(NAMESPACE, name))["metadata"]
    except NotFound:
        return {}
    return found


async def _owner(client: KubeClient, namespace: str) -> str:
    metadata = await namespace_metadata(client, namespace)
    return str((metadata.get("annotations") or {}).get(COMPONENT, ""))


def _problems(component: str, owners: Mapping[str, str]) -> Iterator[Problem]:
    """One for each other component that has some of the namespaces."""
    for owner in sorted({*owners.values()} - {"", component}):
        its = [namespace for namespace, each in owners.items() if each == owner]
        if urn_place(owner) == urn_place(component):
            fix = (
                "if this is that component under another name or parent, give it the option "
                f"aliases=[{owner!r}], and if this `up` had no preview, run `pulumi state delete "
                f"'{component}'` first; without the alias, Pulumi would delete the objects of both"
            )
        else:
            fix = (
                "leave it to that stack, or destroy it there first; if that stack's state is lost, run "
                f"`kubectl annotate namespace {' '.join(its)} {COMPONENT}-`"
            )
        yield Problem(
            "", f"belongs to {_said(owner)}", fix=fix, where=f"namespace {', '.join(its)}"
        )


def _said(component: str) -> str:
    """`Kueue queues of stack dev of project platform`."""
    stack, project = urn_place(component)
    _, _, types, name = component.split("::", 3)
    return f"{types.rpartition(':')[2]} {name} of stack {stack} of project {project}"
