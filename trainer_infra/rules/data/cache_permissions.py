"""The initializer of a data cache may make the cache: what Roles allow its account (rbac.authorization.k8s.io/v1).

It makes a service account, a LeaderWorkerSet and a service, which its own service account must be
allowed to (reference behaviour 7.2; `catalog/data_cache.py`). Whether it is, is said only where the
world is whole and has service accounts, or bindings, at all: otherwise they were not read.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.catalog import data_cache
from trainer_infra.rules.data import initializers
from trainer_infra.rules.grants import Grant, find_object, given, known
from trainer_infra.rules.placement import lookup, node_constraints
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.supply_chain import images
from trainer_infra.rules.world import World

ACCOUNT: Final = "ServiceAccount"
_GROUP: Final = "Group"
_USER: Final = "User"
_EVERYBODY: Final = "system:authenticated"
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
Member = tuple[str, str, str]
"""Kind, name and namespace of whom a binding is for; that of a group is empty."""


def missing_grants(
    account: str, namespace: str, wanted: Collection[Grant], world: World
) -> tuple[Grant, ...]:
    """Those that no binding gives the account; none where there are no bindings at all."""
    if not any(world.of_kind(kind) for kind in _BINDINGS):
        return ()
    rules = [
        each
        for role in _roles(account, namespace, world)
        for one in (role, *_aggregated(role, world))
        for each in lookup.items(one["rules"])
    ]
    had = {each for rule in rules for each in given(rule, wanted)}
    return tuple(each for each in wanted if each not in had)


def _roles(account: str, namespace: str, world: World) -> Iterator[Value]:
    """The roles that are bound to it, or to a group that every account is in."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", _EVERYBODY)
    members = [(ACCOUNT, account, where) for where in (namespace, "")]
    members += [(_GROUP, each, "") for each in groups]
    members.append((_USER, f"system:serviceaccount:{namespace}:{account}", ""))
    for kind, where in zip(_BINDINGS, (namespace, ""), strict=True):
        bound = world.once(_bound, kind, where)
        for binding in (each for member in members for each in bound.get(member, ())):
            reference = binding.object["roleRef"]
            of_kind, name = reference["kind"].text(), reference["name"].text()
            role = find_object(of_kind, name, namespace if of_kind == "Role" else "", world)
            if role is not None:
                yield role.object


def _aggregated(role: Value, world: World) -> Iterator[Value]:
    """The ClusterRoles whose rules Kubernetes writes into one with an aggregationRule."""
    selectors = tuple(lookup.items(role.at("aggregationRule", "clusterRoleSelectors")))
    for each in world.of_kind("ClusterRole") if selectors else ():
        labels = lookup.labels_of(each.object)
        if any(node_constraints.selects(selector, labels) for selector in selectors):
            yield each.object


def _bound(world: World, kind: str, namespace: str) -> Mapping[Member, Sequence[Subject]]:
    """The bindings of a kind by whom they are for; of one namespace where that is given."""
    found: dict[Member, list[Subject]] = {}
    for where in lookup.places_near(namespace):
        for binding in map(known, world.of_kind(kind, where)):
            if binding.name and namespace in ("", binding.namespace):
                for each in lookup.items(binding.object["subjects"]):
                    who, name = each["kind"].text(), each["name"].text()
                    space = "" if who in (_GROUP, _USER) else each["namespace"].text()
                    found.setdefault((who, name, space), []).append(binding)
    return found


_NEEDS: Final = (
    Grant("get", "trainjobs", names.GROUP),
    Grant("create", "serviceaccounts", ""),
    Grant("create", "leaderworkersets", "leaderworkerset.x-k8s.io"),
    Grant("get", "leaderworkersets", "leaderworkerset.x-k8s.io"),
    Grant("create", "services", ""),
)
"""What the reference's initializer does (v2.3.0, pkg/initializers/dataset/cache.py)."""
_CACHE: Final = "cache"


def _check_permissions(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    if not _makes_cache(place):
        return
    account = place.pod.spec["serviceAccountName"]
    if account.text() in ("", "default"):
        what = "must be a service account that may make the cache"
        fix = f"write {data_cache.SERVICE_ACCOUNT}, and bind its role in the namespace"
        yield _place(account, place, context).finding(what, account.text() or None, fix)
    elif context.world.is_whole and context.subject.kind not in names.RUNTIMES:
        yield from _of_account(account.text(), context)


def _of_account(account: str, context: Context[Parameters]) -> Iterator[Finding]:
    namespace = context.subject.object.at("metadata", "namespace")
    where, world = namespace.text(), context.world
    if not where or not world.of_kind(ACCOUNT):
        return
    if find_object(ACCOUNT, account, where, world) is None:
        what = f"has no service account {account}, which the initializer of the cache runs as"
        yield namespace.finding(what, where, f"add it to {where}, with its RoleBinding")
        return
    lacking = missing_grants(account, where, _NEEDS, world)
    if lacking:
        first = lacking[0]
        what = f"has no role that lets {account} {first.verb} {first.resource} there"
        fix = f"bind a role with {', '.join(f'{each.verb} {each.resource}' for each in lacking)}"
        yield namespace.finding(what, where, fix)


def _makes_cache(container: PodContainer) -> bool:
    if container.pod.step != names.DATASET_INITIALIZER:
        return False
    uri = initializers.source_uri(container)
    if uri is not None:
        return initializers.uri_scheme(uri.text()) == _CACHE
    return any(name == images.CACHE_IMAGE for name, _ in initializers.variables(container))


def _place(account: Value, container: PodContainer, context: Context[Parameters]) -> Value:
    """The account; the URI where the TrainJob asks a runtime without one for a cache."""
    uri = initializers.source_uri(container)
    if account.is_inherited() and uri is not None and not uri.is_inherited():
        return context.subject.object.at("spec", "initializer", "dataset", "storageUri")
    return account


RULE: Final = Rule(
    id="cache-permissions",
    title="The initializer of a data cache must be allowed to create the cache",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "rbac", "initializers"),
    why=(
        "Without that right the cache is missing, and the initializer still succeeds: the nodes "
        "start and find no data."
    ),
    fix="Run it as a service account that is bound to the data cache's role.",
    places=initializers.containers,
    check=_check_permissions,
    looks_around=True,
)
