"""Shipped runtimes in a cluster, and no job loses its runtime (docs/decisions/0026)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra import names
from trainer_infra.deploy.program_value import is_unit_test
from trainer_infra.errors import InvalidInput, NotAvailable, Problem, Refused
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotServed
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB
from trainer_infra.platform.catalog_content import (
    EXAMPLES,
    CatalogContent,
    RuntimeCatalogArgs,
    catalog_content,
    catalog_problems,
)
from trainer_infra.platform.cluster_connection import read_cluster
from trainer_infra.platform.component import Options, PlatformComponent, without_none
from trainer_infra.trainers.code import content_hash

_AS_IT_IS: Final = ("spec", "metadata.annotations")
"""Of a runtime that the program has no more: what the state has of these stays."""


class RuntimeCatalog(PlatformComponent):
    """ClusterTrainingRuntimes under their plain names, updated in place.

    What TrainJobs still name when it leaves the program stays in the cluster, labelled
    `trainer-infra.dev/deprecated`, until the first `pulumi up` after the last of them was deleted. It
    depends on Trainer's controller, which judges runtimes: write that into `opts`.
    """

    versions: Mapping[str, str]
    """The name of a runtime to that of its frozen copy."""
    deprecated: pulumi.Output[Sequence[str]]
    """Names of runtimes that are no longer in the program, and stay."""

    _arguments = RuntimeCatalogArgs
    _examples = EXAMPLES

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[RuntimeCatalogArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
        args = without_none(args)
        identity = content_hash([pulumi.get_project(), pulumi.get_stack(), resource_name])
        with self.sentences():
            content = catalog_content(args, identity)
            # A provider of the program's own does not say which cluster it is for.
            if "kubeconfig" not in args and self.get_provider("kubernetes::"):
                what = "is missing, and the program chose a Kubernetes provider of its own"
                fix = "give the kubeconfig of that provider, so that jobs of its cluster are seen"
                raise InvalidInput([Problem("kubeconfig", what, fix=fix)])
        self.resources = self._declare_objects(content.objects)
        self.versions = content.versions
        self.deprecated = self._declare_left(content, args)
        self.register_outputs({"versions": self.versions, "deprecated": self.deprecated})

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterable[Problem]:
        return catalog_problems(args)

    def _declare_left(
        self, content: CatalogContent, args: RuntimeCatalogArgs
    ) -> pulumi.Output[Sequence[str]]:
        """Go on declaring runtimes that jobs name, once the kubeconfig is known."""

        def declare(kubeconfig: str | None) -> Sequence[str]:
            with self.sentences():
                left = self._left(content, kubeconfig, args.get("context"))
            unchanged = pulumi.ResourceOptions(ignore_changes=list(_AS_IT_IS))
            self._declare_objects(map(_deprecated_runtime, left), unchanged)
            return [each["metadata"]["name"] for each in left]

        kubeconfig: Any = args.get("kubeconfig")
        if isinstance(kubeconfig, pulumi.Output):
            return kubeconfig.apply(declare)
        return pulumi.Output.from_input(declare(kubeconfig))

    def _left(
        self, content: CatalogContent, kubeconfig: str | None, context: str | None
    ) -> Sequence[JSONObject]:
        """What stays. Where the cluster cannot tell, a preview goes on, and an update stops."""
        if is_unit_test():
            return ()
        try:
            return read_cluster(partial(_left_runtimes, content=content), kubeconfig, context)
        except (NotAvailable, Refused) as error:
            unknown = f"which runtimes TrainJobs still name is not known: {error}"
            if not pulumi.runtime.is_dry_run():
                raise NotAvailable(f"{unknown}; no runtime was deleted") from None
            pulumi.log.warn(f"{self._where}: {unknown}", self)
            return ()


async def _left_runtimes(client: KubeClient, content: CatalogContent) -> Sequence[JSONObject]:
    """Runtimes that stay though the program does not declare them, as the cluster has them.

    A runtime stays while a TrainJob names it, even one that is finished: Kubeflow's SDK reads the runtime
    of each job that it lists. Where the catalog has frozen copies, those of former contents stay too.
    """
    try:
        await client.resource(names.API_VERSION, names.CLUSTER_TRAINING_RUNTIME)
    except NotServed:
        return ()
    mine = f"{names.CATALOG_LABEL}={content.identity}"
    found = await client.list(ObjectSelection(CLUSTER_TRAINING_RUNTIME, labels=mine))
    left = [
        each
        for each in found.items
        if each["metadata"]["name"] not in content.names
        and "deletionTimestamp" not in each["metadata"]
    ]
    if not left:
        return ()
    jobs = await client.list(ObjectSelection(TRAIN_JOB))
    used = frozenset(filter(None, map(_runtime_of, jobs.items)))
    return [
        each
        for each in left
        if each["metadata"]["name"] in used
        or (content.versions and names.VERSION_OF_LABEL in each["metadata"]["labels"])
    ]


def _deprecated_runtime(live: JSONObject) -> JSONDict:
    """What the program goes on to declare of a runtime that it has no more: only its labels change.

    By the label of its own, Trainer warns when a job is submitted to it.
    """
    metadata = live["metadata"]
    marks = {names.DEPRECATED_LABEL: "true", names.SUPPORT_LABEL: names.SUPPORT_DEPRECATED}
    labels = {**(metadata.get("labels") or {}), **marks}
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {"name": metadata["name"], "labels": labels},
        "spec": live["spec"],
    }


def _runtime_of(job: JSONObject) -> str | None:
    """The ClusterTrainingRuntime that a TrainJob names, if it names one."""
    reference = job["spec"]["runtimeRef"]
    kind = reference.get("kind", names.CLUSTER_TRAINING_RUNTIME)
    return str(reference["name"]) if kind == names.CLUSTER_TRAINING_RUNTIME else None
