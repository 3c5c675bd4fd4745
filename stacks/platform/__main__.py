"""An empty cluster becomes a training platform, as the stack's file says."""

import pulumi

from trainer_infra import platform

config = pulumi.Config("platform")
plane = platform.TrainerPlatform("trainer", **(config.get_object("trainer") or {}))
on_plane = pulumi.ResourceOptions(depends_on=[plane])
pools = [
    platform.GpuNodePool(name, opts=on_plane, **args)
    for name, args in (config.get_object("pools") or {}).items()
]
if pools:
    plane.protect(*pools)

pulumi.export("versions", plane.versions)
pulumi.export("flavors", [*plane.flavors, *filter(None, (pool.spec.flavor_name for pool in pools))])
pulumi.export("pools", [pool.spec.as_policy_pool().to_wire() for pool in pools])
