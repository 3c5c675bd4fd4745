"""Coscheduling v0.32.7: the scheduler and the controller of scheduler-plugins as images, of their module.

`make soak` makes them before its tests start; their manifests are the platform's affair. The module is
built with Kubernetes 1.32.5: some of the modules of 1.32.7, which it names, cannot be fetched.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from from_source.cluster import build, images
from from_source.cluster.build import Program

MODULE: Final = ("sigs.k8s.io/scheduler-plugins", "v0.32.7")
"""Module and version of what is built."""
_FLAGS: Final = f"-s -w -X k8s.io/component-base/version.gitVersion={MODULE[1]}"
_PREFIX: Final = "registry.k8s.io/scheduler-plugins"
IMAGES: Final = {
    f"{_PREFIX}/{called}:{MODULE[1]}": Program(
        called, "coscheduling", f"{MODULE[0]}/cmd/{package}", _FLAGS
    )
    for called, package in (("kube-scheduler", "scheduler"), ("controller", "controller"))
}
"""What is built, by the published name of its image."""


def archives() -> Mapping[str, Path]:
    """The images' archives by the images' published names, made once."""
    return {name: _archive(name, program) for name, program in IMAGES.items()}


def _archive(name: str, program: Program) -> Path:
    path = f"bin/{program.name}"
    config = {**images.MANAGER, "Entrypoint": [f"/{path}"]}
    return images.of_program(name, build.built(program), path, config)
