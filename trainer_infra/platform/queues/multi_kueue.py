"""MultiKueue: jobs of one cluster run in whichever of several others has room first."""

import asyncio
import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path as File
from typing import Any, ClassVar, Final, Required, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.platform.argument_fields import Field, Fields, at
from trainer_infra.platform.argument_problems import SHORT_NAME, is_plain, shape_problems
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent
from trainer_infra.platform.queues.workers import (
    WorkerAnswer,
    ask_workers,
    expected_objects,
    kubeconfig_problems,
)

_CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
"""The part of Kueue that answers such checks."""
KUEUE_NAMESPACE: Final = "kueue-system"
_CLUSTER: Final = "MultiKueueCluster"
_KEY: Final = "kubeconfig"
"""Of the Secret, as Kueue reads it."""
_SOURCES: Final = ("kubeconfig", "secret", "path", "cluster_profile")
_EXPECTED: Final = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 512}}
_WITH_NAMESPACE: Final = ("local_queues", "claim_templates")


class WorkerArgs(TypedDict, total=False):
    """How Kueue reaches a worker: exactly one of the first four."""

    kubeconfig: pulumi.Input[str]
    """The text of a kubeconfig, which becomes a Secret."""
    secret: str
    """A Secret in Kueue's namespace, which has it under the key `kubeconfig`."""
    path: str
    """A file in the pod of Kueue's controller."""
    cluster_profile: str
    """A ClusterProfile."""
    preview_kubeconfig: str
    """Text or path of the kubeconfig by which the program looks for what it expects on the worker;
    `kubeconfig` unless given."""


class ExpectsArgs(TypedDict, total=False):
    """What each worker must have already, because MultiKueue does not make it there."""

    namespaces: Sequence[str]
    local_queues: Sequence[str]
    """Each as `NAMESPACE/NAME`."""
    runtimes: Sequence[str]
    """ClusterTrainingRuntimes; with `NAMESPACE/` TrainingRuntimes."""
    priority_classes: Sequence[str]
    """WorkloadPriorityClasses."""
    claim_templates: Sequence[str]
    """ResourceClaimTemplates, each as `NAMESPACE/NAME`."""


class MultiKueueArgs(QueueArgs, total=False):
    """Arguments of such a check."""

    workers: Required[Mapping[str, WorkerArgs]]
    """The clusters by name, up to 20, those first that Kueue shall prefer."""
    quota_management: pulumi.Input[str]
    """`Manual` (the default) or `Automated`, which is a feature gate of Kueue."""
    namespace: str
    """Kueue's, where Secrets with kubeconfigs are; `kueue-system` unless given."""
    expects: ExpectsArgs
    """What the program looks for on each worker, in every preview and update."""


class MultiKueue(QueueComponent):
    """Kueue's AdmissionCheck, MultiKueueConfig, and a MultiKueueCluster for each worker.

    A preview fails if a worker lacks what the program expects there. A worker that cannot be reached is a
    warning.
    """

    _arguments = MultiKueueArgs
    kind = "MultiKueueConfig"
    fields: ClassVar[Fields] = {
        "workers": Field(
            ("spec", "clusters"),
            list,
            argument=lambda below, workers: tuple([*workers][int(each)] for each in below),
        ),
        "quota_management": at("spec.quotaManagement"),
    }

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[MultiKueueArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)

    @override
    def _problems(self, args: Any) -> Iterator[Problem]:
        for name, worker in args["workers"].items():
            yield from _worker_problems(("workers", name), worker)
        namespace = args.get("namespace", KUEUE_NAMESPACE)
        yield from shape_problems(("namespace",), namespace, SHORT_NAME)
        for key, names in args.get("expects", {}).items():
            yield from shape_problems(("expects", key), names, _EXPECTED)
            for each in names if key in _WITH_NAMESPACE else ():
                if each.count("/") != 1:
                    yield Problem(f"expects.{key}", "must be NAMESPACE/NAME", each)

    @override
    def _argument(self, value: JSONObject, path: Path, args: Any) -> Path:
        if value["kind"] != _CLUSTER or path[:2] == ("metadata", "labels"):
            return super()._argument(value, path, args)
        name = value["metadata"]["name"]
        sources = (each for each in _SOURCES if each in args["workers"][name])
        return ("workers", name, *(sources if path[:1] == ("spec",) else ()))

    @override
    def _judge_all(self, args: Any, objects: Iterable[JSONObject]) -> None:
        super()._judge_all(args, objects)
        expected = tuple(expected_objects(args.get("expects", {})))
        if not expected:
            return
        answers: dict[str, WorkerAnswer] = {}
        known: dict[str, str] = {}
        for name, worker in args["workers"].items():
            kubeconfig = worker.get("preview_kubeconfig", worker.get("kubeconfig"))
            if not is_plain(kubeconfig):
                continue  # `_checked` asks the worker when it is known.
            if kubeconfig:
                is_in_home = kubeconfig.startswith("~")
                known[name] = str(File(kubeconfig).expanduser()) if is_in_home else kubeconfig
            else:
                answers[name] = WorkerAnswer(unknown="give it a preview_kubeconfig")
        answers |= run_in_loop(ask_workers(known, expected))
        if problems := [*self._missing(answers)]:
            raise InvalidInput(problems)

    def _missing(self, answers: Mapping[str, WorkerAnswer]) -> Iterator[Problem]:
        """What is missing on workers; which of them cannot be asked is a warning."""
        for name, answer in answers.items():
            if answer.unknown:
                sentence = f"what worker {name} has is not known: {answer.unknown}"
                pulumi.log.warn(f"{self._where}: {sentence}", self)
            yield from (Problem("", each) for each in answer.missing)

    async def _checked(self, args: Any, worker: str, kubeconfig: str) -> str:
        """A kubeconfig that was an Output, after its worker was asked; the program goes on meanwhile."""
        problems = [*_kubeconfig_problems(("workers", worker, "kubeconfig"), kubeconfig)]
        expected = tuple(expected_objects(args.get("expects", {})))
        if expected and not problems and "preview_kubeconfig" not in args["workers"][worker]:
            asked = ask_workers({worker: kubeconfig}, expected)
            problems += self._missing(await asyncio.to_thread(run_in_loop, asked))
        with self.sentences():
            if problems:
                raise InvalidInput(problems)
        return kubeconfig

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        for name in args["workers"]:
            spec = {"clusterSource": self._source(name, args)}
            yield self._object(_CLUSTER, {**args, "name": name}, spec=spec)
        yield from super()._objects(args)
        yield self._check(_CONTROLLER, args)

    @override
    def _secrets(self, args: Any) -> Iterable[JSONObject]:
        for worker, given in args["workers"].items():
            if "kubeconfig" not in given:
                continue
            kubeconfig = given["kubeconfig"]
            if not is_plain(kubeconfig):
                look = partial(self._checked, args, worker)
                kubeconfig = pulumi.Output.from_input(kubeconfig).apply(look)
            secret = self._object("Secret", {**args, "name": self._secret_name(worker)})
            secret["metadata"]["namespace"] = args.get("namespace", KUEUE_NAMESPACE)
            data = pulumi.Output.secret(kubeconfig).apply(
                lambda text: base64.b64encode(text.encode()).decode()
            )
            yield {**secret, "apiVersion": "v1", "data": {_KEY: data}}

    def _secret_name(self, worker: str) -> str:
        return f"{self.object_name}-{worker}"

    def _source(self, name: str, args: Any) -> JSONDict:
        worker: WorkerArgs = args["workers"][name]
        if "cluster_profile" in worker:
            return {"clusterProfileRef": {"name": worker["cluster_profile"]}}
        if "path" in worker:
            return {"kubeConfig": {"locationType": "Path", "location": worker["path"]}}
        location = worker.get("secret", self._secret_name(name))
        return {"kubeConfig": {"locationType": "Secret", "location": location}}


def _worker_problems(path: Path, worker: WorkerArgs) -> Iterator[Problem]:
    given = [each for each in _SOURCES if each in worker]
    if len(given) != 1:
        what = f"must have exactly one of {', '.join(_SOURCES)}"
        yield Problem(path_text(path), what, ", ".join(given) or None)
    if isinstance(text := worker.get("kubeconfig"), str):
        yield from _kubeconfig_problems((*path, "kubeconfig"), text)


def _kubeconfig_problems(path: Path, text: str) -> Iterator[Problem]:
    for what, fix in kubeconfig_problems(text):
        yield Problem(path_text(path), what, fix=fix)
