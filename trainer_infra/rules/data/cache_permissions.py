"""cache-permissions: the initializer of a data cache may make the cache.

It makes a service account, a LeaderWorkerSet and a service, which its own service account must be
allowed to (reference behaviour 7.2; `catalog/data_cache.py`). Whether it is, is said only where the
world is whole and has service accounts, or bindings, at all: otherwise they were not read.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.catalog import data_cache
from trainer_infra.rules.data import grants, initializers
from trainer_infra.rules.data.grants import Grant
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_NEEDS: Final = (
    Grant("get", "trainjobs", names.GROUP),
    Grant("create", "serviceaccounts", ""),
    Grant("create", "leaderworkersets", "leaderworkerset.x-k8s.io"),
    Grant("get", "leaderworkersets", "leaderworkerset.x-k8s.io"),
    Grant("create", "services", ""),
)
"""What the reference's initializer does (v2.3.0, pkg/initializers/dataset/cache.py)."""
_CACHE: Final = "cache"


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
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
    if not where or not world.of_kind(grants.ACCOUNT):
        return
    if grants.find_object(grants.ACCOUNT, account, where, world) is None:
        what = f"has no service account {account}, which the initializer of the cache runs as"
        yield namespace.finding(what, where, f"add it to {where}, with its RoleBinding")
        return
    lacking = grants.missing_grants(account, where, _NEEDS, world)
    if lacking:
        first = lacking[0]
        what = f"has no role that lets {account} {first.verb} {first.resource} there"
        fix = f"bind a role with {', '.join(f'{each.verb} {each.resource}' for each in lacking)}"
        yield namespace.finding(what, where, fix)


def _makes_cache(container: PodContainer) -> bool:
    if container.pod.step != names.DATASET_INITIALIZER:
        return False
    uri = initializers.uri(container)
    if uri is not None:
        return initializers.scheme(uri.text()) == _CACHE
    return any(name == "CACHE_IMAGE" for name, _ in initializers.variables(container))


def _place(account: Value, container: PodContainer, context: Context[Parameters]) -> Value:
    """The account; the URI where the TrainJob asks a runtime without one for a cache."""
    uri = initializers.uri(container)
    if account.is_inherited() and uri is not None and not uri.is_inherited():
        return context.subject.object.at("spec", "initializer", "dataset", "storageUri")
    return account


RULE: Final = Rule(
    id="cache-permissions",
    title="The initializer of a data cache may make the cache",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "rbac", "initializers"),
    why=(
        "Without the right to make it there is no cache, and the initializer ends as if all were "
        "well: the nodes start and find no data."
    ),
    fix="Run it as a service account that is bound to the role of the data cache.",
    places=initializers.containers,
    check=_check,
    looks_around=True,
)
