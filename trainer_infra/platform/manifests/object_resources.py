"""Objects as resources of `pulumi_kubernetes`, each stage after the one before.

A controller writes its webhooks' certificates some seconds after its pods are ready, and a kind is
served a moment after its definition is stored. The engine asks a program before it gives up on a
resource (Pulumi's error hooks); `destroy` needs no program for them.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

import pulumi
from pulumi.runtime.settings import _get_callbacks
from pulumi.runtime.sync_await import _sync_await
from pulumi_kubernetes import _utilities
from pulumi_kubernetes.apiextensions import CustomResource

from trainer_infra.deploy.program_value import DeclaredObjects, ProgramValue
from trainer_infra.deploy.resource_type import python_name
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.manifests.install_order import install_stages

PASSING: Final = (
    "failed calling webhook",
    "no endpoints available for service",
    "no matches for kind",
    "the server could not find the requested resource",
    "certificate signed by unknown authority",
    "connect: connection refused",
)
"""Parts of what an API server says while a webhook or a kind is not served yet."""
TRIES: Final = 30
"""Tries of one object at most."""
_PAUSE: Final = 2.0
"""Seconds between two tries."""


def _will_pass(errors: list[str]) -> bool:
    """Whether what an object was refused for, in every try until now, is over in a moment."""
    return 0 < len(errors) < TRIES and all(any(part in each for part in PASSING) for each in errors)


def _new_hook() -> pulumi.ResourceHookBinding:
    async def ask(failed: pulumi.ErrorHookArgs) -> bool:
        if failed.failed_operation == "delete" or not _will_pass(failed.errors):
            return False
        await asyncio.sleep(_PAUSE)
        return True

    # Where a program ends with a sentence while the SDK's server of hooks starts, Python crashes.
    _sync_await(_get_callbacks())
    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook("trainer:webhook-retry", ask)])


_HOOK: Final = ProgramValue(_new_hook)
"""An option for resources, one of each program: the engine takes the name of a hook once."""
FIELD_MANAGER: Final = "trainer-infra"
"""Who applies the platform's objects; without it every object has a manager of a random name."""
_FIELD_MANAGER: Final = "pulumi.com/patchFieldManager"
_OWN: Final = frozenset({"apiVersion", "kind", "metadata"})
Resources = Mapping[str, pulumi.CustomResource]
"""Resources by `Kind/name`, or `Kind/namespace/name`."""
_DECLARED: Final = ProgramValue(DeclaredObjects)


def object_resources(
    objects: Iterable[JSONObject],
    parent: pulumi.Resource,
    options: pulumi.ResourceOptions | None = None,
    imported: Collection[str] = (),
    after: Sequence[pulumi.Resource] = (),
) -> Resources:
    """Declare objects as children of a component.

    Args:
        objects: as an API server takes them.
        parent: the component.
        options: further options of each resource.
        imported: keys of those that the cluster has and Pulumi is to take over as they are.
        after: what comes before the first of them.

    Raises:
        InvalidInput: another component of the program declares some of them, on the same cluster.
    """
    made: dict[str, pulumi.CustomResource] = {}
    stages = install_stages(objects)
    if not stages:
        return MappingProxyType(made)
    cluster = (options and options.provider) or parent.get_provider("kubernetes::")
    groups = ((each["apiVersion"].rpartition("/")[0], each) for stage in stages for each in stage)
    keys = (f"{group}:{object_key(each)}" for group, each in groups)
    where = f"{type(parent).__name__} {parent._name}"  # noqa: SLF001  the SDK has no other door to it
    _DECLARED.of(cluster).claim(keys, parent, where)
    before, hooks = list(after), _HOOK.of()
    for stage in stages:
        own = pulumi.ResourceOptions(parent=parent, depends_on=before, hooks=hooks)
        resources = {}
        for each in stage:
            key = object_key(each)
            place = key.partition("/")[2] if key in imported else None
            taken = pulumi.ResourceOptions(import_=place)
            opts = pulumi.ResourceOptions.merge(pulumi.ResourceOptions.merge(options, own), taken)
            resources[key] = _resource(each, parent, opts)
        before = list(resources.values())
        made |= resources
    return MappingProxyType(made)


def object_key(value: JSONObject) -> str:
    """`Kind/name` of an object, with its namespace between them where it has one."""
    metadata = value["metadata"]
    return "/".join(filter(None, (value["kind"], metadata.get("namespace"), metadata["name"])))


def _resource(
    value: JSONObject, parent: pulumi.Resource, opts: pulumi.ResourceOptions
) -> pulumi.CustomResource:
    metadata = dict(value["metadata"])
    place = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    name = f"{parent._name}:{place}"  # noqa: SLF001  the SDK has no other door to it
    if opts.import_ is None:
        # An import takes only an object that is what the program says, annotations included.
        annotations = {_FIELD_MANAGER: FIELD_MANAGER, **(metadata.get("annotations") or {})}
        metadata["annotations"] = annotations
    fields = {key: each for key, each in value.items() if key not in _OWN}
    kind = _known_kind(value)
    if kind is None and fields.keys() - {"spec"}:
        # The SDK's class for kinds of CustomResourceDefinitions knows no field but spec.
        plugin = pulumi.ResourceOptions(version=_utilities.get_version())  # type: ignore[no-untyped-call]
        merged = pulumi.ResourceOptions.merge(opts, plugin)
        properties = {**value, "metadata": metadata}
        token = f"kubernetes:{value['apiVersion']}:{value['kind']}"
        return pulumi.CustomResource(token, name, properties, merged)
    if kind is None:
        return CustomResource(
            name, value["apiVersion"], value["kind"], metadata=metadata, opts=opts, **fields
        )
    arguments = {python_name(key): each for key, each in fields.items()}
    made: pulumi.CustomResource = kind(name, metadata=metadata, opts=opts, **arguments)
    return made


def _known_kind(value: JSONObject) -> Any:
    """The class of an object's kind; None of a kind that a CustomResourceDefinition defines."""
    group, _, version = value["apiVersion"].rpartition("/")
    try:
        module = import_module(f"pulumi_kubernetes.{group.partition('.')[0] or 'core'}.{version}")
    except ModuleNotFoundError:
        return None
    return getattr(module, value["kind"], None)
