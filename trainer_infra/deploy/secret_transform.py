"""A secret that a transform puts into a resource of ours, found before anything is written.

Pulumi runs transforms in the engine, after the constructor and those of the resource itself, then
those of its parents, then the stack's. The engine names no secrets to the process that serves
dynamic providers, so `check` could not tell such a value from any other. So a program that has
transforms gets one more stack transform, ours, which runs last: it takes secrets out of every input
but `secretData` and names their paths, which `check` refuses (`provider`). A program without
transforms pays nothing.

The SDK has no public way to know of transforms; a test fails when what is used of it changes.
"""
# ruff: noqa: SLF001  what is used of the SDK has no other name

import asyncio
from typing import Final

import pulumi
from google.protobuf.struct_pb2 import Value
from pulumi.runtime import _callbacks, rpc, settings
from pulumi.runtime.proto import callback_pb2, resource_pb2

from trainer_infra import names

MISPLACED: Final = "misplacedSecrets"
"""Input that has the paths of the secrets that were taken out."""
CARRIED: Final = frozenset({"secretData", "__provider", MISPLACED})
"""Inputs that stay as they are: secret ones stay encrypted."""
_NAME: Final = "trainer-infra-secrets-"
"""Begins the name of our transform among the program's callbacks."""


def after_transforms(
    urn: pulumi.Output[str], opts: pulumi.ResourceOptions | None
) -> pulumi.Output[str]:
    """The URN, once our transform runs after every one that the program has registered by then.

    It is known when the resource's parents are registered, with their transforms.
    """
    own = opts is not None and bool(opts.transforms or opts.transformations)

    async def seen() -> str:
        known = await urn.future()
        parents = (opts.parent if opts else None, pulumi.runtime.get_root_resource())
        # Those of the older kind are inherited by children.
        inherited = any(getattr(each, "_transformations", None) for each in parents)
        await _register(sure=own or inherited)
        return str(known)

    async def nothing() -> set[pulumi.Resource]:
        return set()

    # A parent is not a dependency: a component ends after its children, and would wait for itself.
    return pulumi.Output(nothing(), seen(), urn.is_known())


async def _register(*, sure: bool) -> None:
    """Register the transform after those that there are; once for each number of them."""
    loop = asyncio.get_running_loop()
    # Each context of the program may have a server of its own for its transforms.
    servers = [each for each in _callbacks._CallbackServicer._servicers if each._loop is loop]
    if sure and not servers:
        servers = list(filter(None, [await settings._get_callbacks()]))
    token = f"{_NAME}{sum(len(each._transforms) for each in servers)}"
    if not servers or any(token in each._callbacks for each in servers):
        return
    server = servers[0]
    server._callbacks[token] = _transformed
    target = callback_pb2.Callback(token=token, target=server._target)
    server._monitor.RegisterStackTransform(target)


async def _transformed(request: bytes) -> resource_pb2.TransformResponse:
    """The resource with a mark in place of each secret that is not carried, and its path in `MISPLACED`."""
    given = resource_pb2.TransformRequest.FromString(request)
    found: list[str] = []
    if given.type.startswith(names.RESOURCE_TYPE):
        for name, value in given.properties.fields.items():
            if name not in CARRIED:
                _take_out(value, name, found)
    if found:
        given.properties[MISPLACED] = sorted(found)
    return resource_pb2.TransformResponse(properties=given.properties, options=given.options)


def _take_out(value: Value, path: str, found: list[str]) -> None:
    if value.HasField("list_value"):
        for index, each in enumerate(value.list_value.values):
            _take_out(each, f"{path}[{index}]", found)
    if not value.HasField("struct_value"):
        return
    fields = value.struct_value.fields
    kind = fields[rpc._special_sig_key].string_value if rpc._special_sig_key in fields else ""
    is_output = kind == rpc._special_output_value_sig
    # To read a field that is not there adds an empty one, of which the engine dies.
    is_secret = is_output and "secret" in fields and fields["secret"].bool_value
    if is_secret or kind == rpc._special_secret_sig:
        found.append(path)
        value.string_value = names.SECRET_SHOWN
    elif is_output and "value" in fields:
        _take_out(fields["value"], path, found)
    elif not kind:
        for name, each in fields.items():
            _take_out(each, f"{path}.{name}", found)
