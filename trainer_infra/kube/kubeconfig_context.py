"""The context of a kubeconfig that commands talk to: its name and its namespace.

Only these two are read: whether the cluster can be reached, and what is wrong with a kubeconfig,
`kubeconfig` says when a command connects.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from trainer_infra import names
from trainer_infra.json_values import JSONObject

IN_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a pod finds its own namespace."""


@dataclass(frozen=True, slots=True)
class KubeconfigContext:
    """A context, as far as it can be read."""

    name: str
    """Empty in a pod, and where there is none."""
    namespace: str
    """Its own, else `default`."""


def context_of(kubeconfig: str | None, name: str | None) -> KubeconfigContext:
    """The named or current context of a kubeconfig, given as `kube.kubeconfig.read_kubeconfig` takes it."""
    files = tuple(_files(kubeconfig))
    if not files and kubeconfig is None and IN_POD.is_file():
        return KubeconfigContext("", IN_POD.read_text(encoding="utf-8").strip())
    named = (str(each.get("current-context") or "") for each in files)
    wanted = name or next(filter(None, named), "")
    contexts = [context for each in files for context in each.get("contexts") or ()]
    found = next((each.get("context") for each in contexts if each.get("name") == wanted), None)
    return KubeconfigContext(wanted, str(names.namespace_of((found or {}).get("namespace"))))


def is_text(source: str) -> bool:
    """Whether a kubeconfig is given as YAML or JSON, and not by its paths."""
    return "\n" in source or source.lstrip().startswith("{")


def _files(kubeconfig: str | None) -> Iterator[JSONObject]:
    """Every kubeconfig that can be read, in the order in which the first one to say a thing wins."""
    source = kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    texts = [source] if is_text(source) else _texts(source)
    for text in texts:
        try:
            content = yaml.load(text, yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        if isinstance(content, Mapping):
            yield content


def _texts(paths: str) -> Iterator[str]:
    for path in filter(None, paths.split(os.pathsep)):
        try:
            yield Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
