"""Go modules of our own that name what a cluster's programs are built from."""

import re

from from_source.cluster.build import WRAPPERS

OF_ONE_KUBERNETES = ("jobset", "kueue", "kwok", "lws")
OWN = {"gomodules.xyz/jsonpatch/v2", "volcano.sh/apis"}
"""What decides what a program does stays as its release has it."""


def test_libraries_of_programs_for_one_kubernetes_have_one_version_and_are_compiled_once() -> None:
    versions: dict[str, set[str]] = {}
    for each in OF_ONE_KUBERNETES:
        listed = (WRAPPERS / each / "go.mod").read_text()
        for path, version in re.findall(r"^\t(\S+) (v\S+)", listed, re.MULTILINE):
            versions.setdefault(path, set()).add(version)
    assert {path for path, found in versions.items() if len(found) > 1} <= OWN
