"""The runtimes that a catalog declares, and what each contains."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, TypedDict

import pulumi

from trainer_infra import catalog, names
from trainer_infra.api import manifests
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.catalog.data_cache import CACHE_IMAGE
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject, json_leaves, with_leaves
from trainer_infra.platform.argument_problems import NAME, shape_problems
from trainer_infra.rules.supply_chain.images import has_digest
from trainer_infra.trainers.code import content_hash


class RuntimeCatalogArgs(TypedDict, total=False):
    """Arguments of a RuntimeCatalog."""

    runtimes: Sequence[str | ClusterTrainingRuntime]
    """Shipped runtimes by their names, and runtimes of your own; all shipped ones unless given."""
    images: Mapping[str, str]
    """Mirrors: the beginning of an image's name to what stands there instead."""
    service_account: str
    """Of pods that name none, for example `training` where every namespace is a Workspace."""
    transform: Callable[[JSONObject], Mapping[str, Any]]
    """Changes each runtime, in wire form, for example `pool.spec.wired_runtime`."""
    versioned: bool | str | Sequence[str]
    """Whether each runtime, or each of those named, has a frozen copy `NAME-CONTENT`; false unless
    given."""
    kubeconfig: pulumi.Input[str]
    """The cluster's kubeconfig, a path or its text, where the program chose a provider of its own;
    otherwise that of `kubernetes:kubeconfig`, or KUBECONFIG."""
    context: str
    """The context in it; the current one unless given."""


EXAMPLES: Final[Mapping[str, str]] = {
    "images": 'images={"ghcr.io/kubeflow": "mirror.example.com/kubeflow"}',
    "runtimes": 'runtimes=["torch-distributed"]',
}
"""What to write of an argument."""

_HUB: Final = "docker.io"
"""Where an image is that names no registry."""
_REGISTRY: Final = re.compile(r"[^/]*[.:][^/]*|localhost")
_TORCHTUNE: Final = "torchtune"


@dataclass(frozen=True, slots=True)
class CatalogContent:
    """What a catalog declares."""

    identity: str
    """The label value of what this catalog keeps."""
    objects: Sequence[JSONObject]
    """Runtimes under their own names, then their frozen copies."""
    versions: Mapping[str, str]
    """The name of a runtime to that of its frozen copy."""

    @property
    def names(self) -> frozenset[str]:
        """Names of all objects."""
        return frozenset(each["metadata"]["name"] for each in self.objects)


def catalog_problems(args: RuntimeCatalogArgs) -> Iterator[Problem]:
    """What an argument says that cannot be."""
    try:
        chosen = _chosen(args)
    except InvalidInput as error:
        yield from error.problems
        return
    used = frozenset(image for each in chosen for image in spec_images(each["spec"]))
    yield from _mirror_problems(args.get("images", {}), used)
    yield from _digest_problems(chosen, args.get("images", {}))
    yield from _frozen_problems(_frozen_names(args.get("versioned", False), chosen), chosen)
    if "service_account" in args:
        yield from shape_problems(("service_account",), args["service_account"], NAME)


def catalog_content(args: RuntimeCatalogArgs, identity: str) -> CatalogContent:
    """The objects of a catalog.

    Raises:
        InvalidInput: The transform makes no runtime.
    """
    chosen, images = _chosen(args), args.get("images", {})
    frozen = _frozen_names(args.get("versioned", False), chosen)
    account = args.get("service_account")
    prepared = (_with_account(each, account) for each in chosen)
    mirrored = ({**each, "spec": _mirrored_spec(each["spec"], images)} for each in prepared)
    made = [_own(_transformed(each, args), identity) for each in mirrored]
    named = {each["metadata"]["name"]: each for each in made}
    copies = {name: _frozen_copy(each) for name, each in named.items() if name in frozen}
    versions = {name: copy["metadata"]["name"] for name, copy in copies.items()}
    return CatalogContent(identity, (*made, *copies.values()), versions)


def _chosen(args: RuntimeCatalogArgs) -> Sequence[JSONDict]:
    """Runtimes as they are shipped, or as the program has them."""
    wanted = args.get("runtimes", tuple(each.name for each in catalog.RUNTIMES))
    made, problems = [], []
    for each in wanted:
        if isinstance(each, ClusterTrainingRuntime):
            made.append(each.to_wire())
        elif (shipped := catalog.find(each)) is not None:
            made.append(shipped.to_wire())
        else:
            fix = catalog.advice(each)
            problems.append(Problem("runtimes", "is not a shipped runtime", got=each, fix=fix))
    found = [each["metadata"]["name"] for each in made]
    twice = dict.fromkeys(each for each in found if found.count(each) > 1)
    problems += (
        Problem("runtimes", "is a duplicate; values must be unique", got=each) for each in twice
    )
    if problems:
        raise InvalidInput(problems)
    return made


def _frozen_names(versioned: Any, chosen: Sequence[JSONObject]) -> Sequence[str]:
    if isinstance(versioned, bool):
        return [each["metadata"]["name"] for each in chosen] if versioned else []
    return [versioned] if isinstance(versioned, str) else list(versioned)


def _frozen_problems(frozen: Sequence[str], chosen: Sequence[JSONObject]) -> Iterator[Problem]:
    by_name = {each["metadata"]["name"]: each for each in chosen}
    others = [name for name, each in by_name.items() if not _is_torchtune(each)]
    for name in frozen:
        if name not in by_name:
            yield Problem("versioned", "is not one of the runtimes", got=name, fix=f"use {others}")
        elif _is_torchtune(by_name[name]):
            what = (
                "can have no frozen copy: Trainer reads the model of TorchTune from the runtime's name, "
                "which has three parts"
            )
            yield Problem("versioned", what, got=name, fix=f"write versioned={others}")


def _is_torchtune(runtime: JSONObject) -> bool:
    labels = runtime["metadata"].get("labels") or {}
    return labels.get(names.FRAMEWORK_LABEL) == _TORCHTUNE


def _with_account(runtime: JSONDict, account: str | None) -> JSONDict:
    """A runtime whose pods have the service account, but for those that name another."""
    if account is None:
        return runtime
    made = deepcopy(runtime)
    for job in made["spec"]["template"]["spec"]["replicatedJobs"]:
        job["template"]["spec"]["template"]["spec"].setdefault("serviceAccountName", account)
    return made


def _transformed(runtime: JSONDict, args: RuntimeCatalogArgs) -> JSONDict:
    """A runtime as the program's transform makes it; judged as one that a user wrote."""
    transform = args.get("transform")
    if transform is None:
        return runtime
    name = runtime["metadata"]["name"]
    made: Any = transform(runtime)
    where = f"transform of {name}"
    if not isinstance(made, Mapping):
        what = "must give a runtime in wire form"
        raise InvalidInput([Problem("", what, got=made, where=where)])
    if any(isinstance(leaf, pulumi.Output) for _, leaf in json_leaves(made)):
        what = "must give a runtime that is known in preview, and this one has an Output"
        raise InvalidInput([Problem("", what, where=where)])
    if (found := made.get("metadata", {}).get("name")) != name:
        what = "must leave the runtime its name"
        raise InvalidInput([Problem("metadata.name", what, got=found, where=where)])
    if problems := [each.problem(where) for each in manifests.object_findings(made)]:
        raise InvalidInput(problems)
    return ClusterTrainingRuntime.from_wire(made, where).to_wire()


def _own(runtime: JSONDict, identity: str) -> JSONDict:
    """A runtime with the catalog's labels."""
    labels = runtime["metadata"].get("labels") or {}
    content = content_hash([labels, runtime["spec"]])
    own = {names.CONTENT_LABEL: content, names.CATALOG_LABEL: identity}
    metadata = {**runtime["metadata"], "labels": {**labels, **own}}
    return {**runtime, "metadata": metadata}


def _frozen_copy(runtime: JSONDict) -> JSONDict:
    """A copy under the name of its content; without the framework's label the SDK does not list it."""
    labels = dict(runtime["metadata"]["labels"])
    labels.pop(names.FRAMEWORK_LABEL, None)
    name = runtime["metadata"]["name"]
    labels[names.VERSION_OF_LABEL] = name
    copy_name = f"{name}-{labels[names.CONTENT_LABEL]}"
    return {**runtime, "metadata": {**runtime["metadata"], "name": copy_name, "labels": labels}}


def _mirrored_spec(spec: Any, images: Mapping[str, str]) -> Any:
    known = {each: mirrored_image(each, images) for each in spec_images(spec)}
    return with_leaves(spec, lambda leaf: known.get(leaf, leaf) if isinstance(leaf, str) else leaf)


def mirrored_image(image: str, images: Mapping[str, str]) -> str:
    """An image's name at its mirror; as it is where none fits.

    A mirror is for the beginning of a name, in whole parts of its path; of several the longest is taken.
    """
    for prefix in sorted(images, key=len, reverse=True):
        for name in (image, _full_name(image)):
            rest = name.removeprefix(prefix)
            if len(rest) < len(name) and (rest[:1] in {"/", ":", "@", ""} or prefix[-1:] == "/"):
                return f"{images[prefix]}{rest}"
    return image


def spec_images(spec: Any) -> frozenset[str]:
    """Images that a runtime names: those of its containers, and the one that a data cache runs."""
    found = (
        leaf
        for path, leaf in json_leaves(spec)
        if isinstance(leaf, str) and (path[-1] == "image" or leaf == CACHE_IMAGE)
    )
    return frozenset(found)


def _mirror_problems(images: Mapping[str, str], used: frozenset[str]) -> Iterator[Problem]:
    """What is wrong with mirrors; one that no image in use needs is a mistake in its name."""
    for prefix, mirror in images.items():
        if not (prefix and mirror):
            fix = f"write {EXAMPLES['images']}"
            yield Problem("images", "must not be empty", {prefix: mirror}, fix)
        elif all(mirrored_image(each, {prefix: mirror}) == each for each in used):
            some = ", ".join(sorted(used)[:3])
            what = "is the beginning of no image of the chosen runtimes"
            yield Problem("images", what, got=prefix, fix=f"they have {some}")


def _digest_problems(chosen: Sequence[JSONObject], images: Mapping[str, str]) -> Iterator[Problem]:
    """Images of hardened variants that no digest pins: the rule `image-digest` takes them for pinned here."""
    named = [each for each in chosen if catalog.is_hardened(each["metadata"]["name"])]
    for image in sorted({image for each in named for image in spec_images(each["spec"])}):
        if not has_digest(mirrored_image(image, images)):
            fix = f'write images={{"{image}": "{image.partition("@")[0]}@sha256:…"}}'
            what = "must pin by its digest each image of a hardened runtime"
            yield Problem("images", what, got=image, fix=fix)


def _full_name(image: str) -> str:
    first, slash, _ = image.partition("/")
    if slash and _REGISTRY.fullmatch(first):
        return image
    return f"{_HUB}/{image}" if slash else f"{_HUB}/library/{image}"
