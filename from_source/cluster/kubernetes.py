"""Kubernetes v1.34.4: its programs, built from Go modules.

For the file of each component that belongs to Kubernetes itself.
"""

from collections.abc import Mapping
from typing import Final

from from_source.cluster import build
from from_source.cluster.build import Program
from from_source.cluster.daemon import Component

VERSION: Final = "v1.34.4"
"""Of Kubernetes; go/kubernetes/go.mod names the same."""

_VERSION_PACKAGE: Final = "k8s.io/component-base/version"

_LDFLAGS: Final = (
    f"-s -w -X {_VERSION_PACKAGE}.gitVersion={VERSION}"
    f" -X {_VERSION_PACKAGE}.gitMajor=1 -X {_VERSION_PACKAGE}.gitMinor=34"
)
"""Without the version a program takes itself for v0.0.0."""


def program(name: str) -> Program:
    """What is built for one of its programs, for example `kubelet`."""
    return Program(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _LDFLAGS)


def component(name: str, flags: Mapping[str, str]) -> Component:
    """One of its programs, with its flags.

    Raises:
        NotAvailable: It cannot be built here.
    """
    command = (str(build.built(program(name))), *(f"--{key}={flags[key]}" for key in flags))
    return Component(name, command)
