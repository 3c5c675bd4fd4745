"""Every object of a workspace, or every problem of its arguments."""

from collections.abc import Iterator

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.workspaces.allowed_runtimes import (
    runtime_policy_objects,
    runtime_problems,
)
from trainer_infra.platform.workspaces.data_cache import data_cache_objects, data_cache_policies
from trainer_infra.platform.workspaces.member import member_problems
from trainer_infra.platform.workspaces.namespace import (
    LEVELS,
    namespace_label_problems,
    namespace_object,
    namespace_problems,
)
from trainer_infra.platform.workspaces.network_policy import (
    NetworkRules,
    egress_problems,
    network_policies,
)
from trainer_infra.platform.workspaces.object_name import label_problems
from trainer_infra.platform.workspaces.queue import derived_hard_limits, queue_problems
from trainer_infra.platform.workspaces.resource_quota import (
    limit_range_problems,
    requested_amounts,
    resource_quota_objects,
    resource_quota_problems,
)
from trainer_infra.platform.workspaces.rights import SDK, rights_objects, rights_problems
from trainer_infra.platform.workspaces.secret import secret_object, secret_problems
from trainer_infra.platform.workspaces.service_account import (
    TRAINING,
    account_problems,
    service_account,
)
from trainer_infra.platform.workspaces.workspace_args import WorkspaceArgs


def workspace_objects(namespace: str, args: WorkspaceArgs) -> tuple[JSONObject, ...]:
    """The objects of a workspace, but those of its queue.

    Raises:
        InvalidInput: What an argument says cannot be.
    """
    if problems := tuple(_problems(namespace, args)):
        raise InvalidInput(problems)
    return tuple(_objects(namespace, args))


def _objects(namespace: str, args: WorkspaceArgs) -> Iterator[JSONObject]:
    level = args.get("pod_security", LEVELS[0])
    yield namespace_object(namespace, level, args.get("labels", {}))
    annotations = args.get("service_account_annotations", {})
    yield service_account(args.get("service_account", TRAINING), namespace, annotations)
    for name, values in args.get("secrets", {}).items():
        yield secret_object(name, namespace, values)
    yield from rights_objects(namespace, args.get("members", ()), args.get("rights", (SDK,)))
    yield from _network(namespace, args)
    if args.get("data_cache"):
        yield from data_cache_objects(namespace)
    hard = {**requested_amounts(derived_hard_limits(args)), **args.get("resource_quota", {})}
    yield from resource_quota_objects(namespace, hard, args.get("limit_range"))
    if "runtimes" in args:
        yield from runtime_policy_objects(namespace, args["runtimes"])


def _network(namespace: str, args: WorkspaceArgs) -> Iterator[JSONObject]:
    if not args.get("network_policy", True):
        return
    yield from network_policies(
        NetworkRules(
            namespace,
            args.get("trainer_namespace", names.SYSTEM_NAMESPACE),
            args.get("internet", True),
            args.get("egress", ()),
            args.get("service_account_annotations", {}),
        )
    )
    if args.get("data_cache"):
        yield from data_cache_policies(namespace)


def _problems(namespace: str, args: WorkspaceArgs) -> Iterator[Problem]:
    """In the order of the arguments."""
    yield from label_problems("namespace", namespace)
    yield from namespace_problems(str(namespace))
    yield from namespace_label_problems(args.get("labels", {}))
    yield from queue_problems(args)
    members = args.get("members", ())
    yield from member_problems(members)
    yield from rights_problems("rights", args.get("rights", (SDK,)))
    for number, each in enumerate(members):
        if "rights" in each:
            yield from rights_problems(f"members[{number}].rights", each["rights"])
    if "runtimes" in args:
        yield from runtime_problems(args["runtimes"])
    yield from secret_problems(args.get("secrets", {}))
    yield from account_problems(args.get("service_account", TRAINING))
    yield from _network_problems(args)
    yield from resource_quota_problems(args.get("resource_quota", {}))
    if "limit_range" in args:
        yield from limit_range_problems(args["limit_range"])


def _network_problems(args: WorkspaceArgs) -> Iterator[Problem]:
    yield from egress_problems(args.get("egress", ()))
    yield from label_problems(
        "trainer_namespace", args.get("trainer_namespace", names.SYSTEM_NAMESPACE)
    )
    if args.get("network_policy", True):
        return
    for name in ("internet", "egress"):
        if name in args:
            what = "is a rule of the network policy, and network_policy=False switches that off"
            yield Problem(name, what, fix="leave one of the two out")
