"""A released controller as a component: its objects, with what the program changes.

`kueue`, `job_controllers` and their siblings say what their release calls its objects, and what the
platform has otherwise.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

import pulumi
import yaml
from typing_extensions import override

from trainer_infra.deploy.destroy_guard_resource import DestroyGuard
from trainer_infra.deploy.program_value import is_unit_test
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_fields import put_fields
from trainer_infra.platform.chart_reference import HelmChart
from trainer_infra.platform.cluster_connection import objects_there, read_cluster
from trainer_infra.platform.component import Options, PlatformComponent, without_none
from trainer_infra.platform.controller_arguments import (
    POD_FIELDS,
    WorkloadArgs,
    controller_problems,
)
from trainer_infra.platform.manifests.helm_chart import installed_objects
from trainer_infra.platform.manifests.manifest_source import manifest_objects, release_objects
from trainer_infra.platform.manifests.object_resources import object_key
from trainer_infra.platform.releases import release_of

CONFIGURATION_HASH: Final = "trainer-infra.dev/configuration"
"""Annotation of its pods: controllers read their configuration when they start."""

_DEPLOYMENT: Final = "Deployment"
_EMPTY: Final = ("", "Cg==")
"""No certificate: nothing, and an end of a line in base64."""
Objects: TypeAlias = tuple[JSONObject, ...]


@dataclass(frozen=True, slots=True)
class ControllerNames:
    """What a release calls its objects."""

    project: str
    """As `releases` has it."""
    namespace: str
    deployment: str
    """The Deployment that reads the configuration."""
    config_map: str
    config_key: str = "controller_manager_config.yaml"
    """The key of the ConfigMap that is its configuration file."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Where it has several images: its Deployments and Jobs by the part whose image they run."""
    own_objects: tuple[str, ...] = ()
    """`Kind/name` of objects of its kinds that it makes for itself."""


class ControllerComponent(PlatformComponent):
    """A controller, with its CRDs, rights and webhooks."""

    namespace: pulumi.Output[str]
    """Where it runs."""
    version: pulumi.Output[str]
    """The release; `custom` of manifests that the program gives."""
    kinds: Sequence[tuple[str, str]]
    """Version and kind of what it defines."""
    own_objects: Sequence[str]
    """`Kind/name` of objects of these kinds that it makes for itself."""

    _names: ClassVar[ControllerNames]

    def __init__(self, resource_name: str, args: WorkloadArgs, opts: Options) -> None:
        super().__init__(resource_name, args, opts)
        names, args = self._names, without_none(args)
        own, chosen = args.get("configuration", {}), self._configuration(args)
        args["configuration"] = merged_configuration(chosen, own)
        with self.sentences():
            version, published = self._published(args)
            objects = controller_objects(self._prepared(published, args), names, args)
            adopted = _there(objects) if args.get("adopt") else ()
        self.kinds, self.own_objects = defined_kinds(objects), names.own_objects
        namespace = self.namespace_in(args)
        first = self._owner_check([namespace])
        self.resources = self._declare_objects(objects, imported=adopted, after=first)
        if self._is_guarded:
            DestroyGuard(
                f"{self._name}:guard",
                self.kinds,
                namespaces=[namespace],
                ignored=self.own_objects,
                landmark=self.landmark,
                cluster=self._guarded_cluster,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[*self.resources.values()]),
            )
        self.namespace = pulumi.Output.from_input(namespace)
        self.version = pulumi.Output.from_input(version)
        self.register_outputs({"namespace": self.namespace, "version": self.version})

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterable[Problem]:
        return controller_problems(args, cls._names.project, cls._names.parts)

    @property
    def landmark(self) -> pulumi.Output[Mapping[str, Any]] | None:
        """Name and UID of a namespace of it, which tells its cluster from others; None without one."""
        for key, each in self.resources.items():
            if key.startswith("Namespace/"):
                metadata: pulumi.Output[Any] = each.metadata  # type: ignore[attr-defined]
                return metadata.apply(lambda known: {"name": known.name, "uid": known.uid})
        return None

    @classmethod
    def namespace_in(cls, args: Mapping[str, Any]) -> str:
        """Where a component of these arguments runs."""
        source = args.get("manifests")
        return source.namespace if isinstance(source, HelmChart) else cls._names.namespace

    @classmethod
    def _published(cls, args: Any) -> tuple[str, Objects]:
        """The version that arguments choose, and its objects."""
        if "manifests" not in args:
            release = release_of(cls._names.project, args.get("version"))
            return release.version.removeprefix("v"), release_objects(release)
        source = args["manifests"]
        if isinstance(source, HelmChart):
            return "custom", installed_objects(source)
        return "custom", manifest_objects(source)

    def _configuration(self, args: Any) -> JSONObject:  # noqa: ARG002  for a subclass
        """Fields of the configuration that other arguments say; those of `configuration` go before."""
        return {}

    def _prepared(self, objects: Objects, args: Any) -> Objects:  # noqa: ARG002  for a subclass
        """The release's objects as the platform has them before a program's changes."""
        return objects


def controller_objects(objects: Objects, names: ControllerNames, args: WorkloadArgs) -> Objects:
    """The objects of a release with a program's changes; values that are Outputs stay as they are.

    Raises:
        InvalidInput: The release has no workload or configuration of those names.
    """
    made = [_without_placeholders(deepcopy(dict(each))) for each in objects]
    if configuration := args.get("configuration"):
        data = _named(made, names.config_map, "ConfigMap")["data"]
        published = yaml.load(data[names.config_key], yaml.CSafeLoader)
        content = json.dumps(merged_configuration(published, configuration), indent=2)
        data[names.config_key] = content
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        pods = _named(made, names.deployment, _DEPLOYMENT)["spec"]["template"]
        pods["metadata"].setdefault("annotations", {})[CONFIGURATION_HASH] = digest
    for workload, image in _images(names, args).items():
        chosen = _named(made, workload, _DEPLOYMENT, "Job")
        put_fields(chosen["spec"]["template"]["spec"], {**args, **image}, POD_FIELDS)
        if chosen["kind"] == _DEPLOYMENT and "replicas" in args:
            chosen["spec"]["replicas"] = args["replicas"]
    return tuple(made)


def _without_placeholders(value: JSONDict) -> JSONDict:
    """An object without the empty certificates that charts have, and controllers write over."""
    if value["kind"] == "Secret" and value.get("data"):
        value["data"] = {key: each for key, each in value["data"].items() if each}
        if not value["data"]:
            del value["data"]
    for webhook in value.get("webhooks", ()):
        if webhook["clientConfig"].get("caBundle") in _EMPTY:
            del webhook["clientConfig"]["caBundle"]
    return value


def _images(names: ControllerNames, args: Mapping[str, Any]) -> Mapping[str, JSONObject]:
    """What each workload gets of the images that the program names."""
    if not names.parts:
        return {names.deployment: {}}
    given = args.get("images", {})
    return {
        workload: {"image": given[part]} if part in given else {}
        for part, workloads in names.parts.items()
        for workload in workloads
    }


def defined_kinds(objects: Iterable[JSONObject]) -> Sequence[tuple[str, str]]:
    """Version and kind of what the CustomResourceDefinitions among objects define."""
    specs = [each["spec"] for each in objects if each["kind"] == "CustomResourceDefinition"]
    return [
        (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
        for spec in specs
        for version in spec["versions"]
        if version["storage"]
    ]


def _there(objects: Iterable[JSONObject]) -> frozenset[str]:
    """Keys of the objects that the cluster has already."""
    if is_unit_test():
        return frozenset()
    return frozenset(map(object_key, read_cluster(lambda client: objects_there(client, objects))))


def _named(objects: list[JSONDict], name: str, *kinds: str) -> JSONDict:
    """The object that the component configures; a chart may call its only Deployment otherwise."""
    of_kind = [each for each in objects if each["kind"] in kinds]
    for each in of_kind:
        if each["metadata"]["name"] == name or len(of_kind) == 1:
            return each
    what = f"have no {kinds[0]} {name}, which this component configures"
    raise InvalidInput([Problem("manifests", what)])


def merged_configuration(below: Any, above: Any) -> Any:
    """A configuration with another's fields: objects are merged, anything else is replaced."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {
        key: merged_configuration(below.get(key), above[key]) if key in above else below[key]
        for key in (*below, *(each for each in above if each not in below))
    }
