"""MultiKueue: jobs of one cluster run in whichever of several others has room first."""

import asyncio
import base64
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path as File
from typing import Any, Final, Required, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.platform.argument_problems import (
    NAME,
    SHORT_NAME,
    ArgumentProblems,
    is_plain,
)
from trainer_infra.platform.queues.provisioning_admission import check_spec
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent, given_fields
from trainer_infra.platform.queues.worker_expectations import (
    KINDS,
    WorkerAnswer,
    ask_workers,
    expected_objects,
)
from trainer_infra.platform.queues.worker_kubeconfig import kubeconfig_problems

CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
"""The part of Kueue that answers such checks."""
QUOTA_MANAGEMENT: Final = ("Manual", "Automated")
"""Who keeps the manager's quota at the sum of the workers'."""
KUEUE_NAMESPACE: Final = "kueue-system"
_KIND: Final = "MultiKueueConfig"
_KEY: Final = "kubeconfig"
"""Of the Secret, as Kueue reads it."""
_MOST_WORKERS: Final = 20
_SOURCES: Final = ("kubeconfig", "secret", "path", "cluster_profile")
_LOCATION: Final = {"minLength": 1, "maxLength": 256}
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
    _name_shape = SHORT_NAME

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[MultiKueueArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `MultiKueueArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        at: Path = ("workers",)
        workers = problems.plain_mapping(at, args["workers"], _MOST_WORKERS, least=1)
        for name, worker in workers.items():
            problems.judge_text((*at, name), name, NAME)
            _judge_worker(problems, (*at, name), worker)
        if "quota_management" in args:
            place = ("quota_management",)
            problems.judge_choice(place, args["quota_management"], QUOTA_MANAGEMENT)
        problems.judge_text(("namespace",), args.get("namespace", KUEUE_NAMESPACE), SHORT_NAME)
        _judge_expectations(problems, args.get("expects", {}))
        if not problems.found:
            self._look(problems, _readable(workers), args)

    def _look(
        self, problems: ArgumentProblems, kubeconfigs: Mapping[str, str | None], args: Any
    ) -> None:
        """Find what is missing on workers; say which of them cannot be asked."""
        expected = tuple(expected_objects(args.get("expects", {})))
        if not expected:
            return
        answers = {
            name: WorkerAnswer(unknown="give it a preview_kubeconfig")
            for name, each in kubeconfigs.items()
            if each is None
        }
        known = {name: each for name, each in kubeconfigs.items() if each is not None}
        answers |= run_in_loop(ask_workers(known, expected))
        self._say(problems, answers)

    def _say(self, problems: ArgumentProblems, answers: Mapping[str, WorkerAnswer]) -> None:
        for name, answer in answers.items():
            if answer.unknown:
                sentence = f"what worker {name} has is not known: {answer.unknown}"
                pulumi.log.warn(f"{self._where}: {sentence}", self)
            for each in answer.missing:
                problems.add((), each)

    async def _checked(self, args: Any, worker: str, kubeconfig: str) -> str:
        """A kubeconfig that was an Output, after its worker was asked; the program goes on meanwhile."""
        problems = ArgumentProblems()
        _judge_kubeconfig(problems, ("workers", worker, "kubeconfig"), kubeconfig)
        expected = tuple(expected_objects(args.get("expects", {})))
        is_asked = expected and "preview_kubeconfig" not in args["workers"][worker]
        if is_asked and not problems.found:
            asked = ask_workers({worker: kubeconfig}, expected)
            self._say(problems, await asyncio.to_thread(run_in_loop, asked))
        with self.sentences():
            problems.end()
        return kubeconfig

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        workers: Mapping[str, WorkerArgs] = args["workers"]
        yield from (self._secret(each, args) for each in workers if "kubeconfig" in workers[each])
        for name in workers:
            spec = {"clusterSource": self._source(name, args)}
            yield self._object("MultiKueueCluster", args, name, spec=spec)
        config: JSONDict = {
            "clusters": list(workers),
            **given_fields(args, quota_management="quotaManagement"),
        }
        yield self._object(_KIND, args, spec=config)
        spec = check_spec(self.object_name, CONTROLLER, _KIND)
        yield self._object("AdmissionCheck", args, spec=spec)

    def _secret(self, worker: str, args: Any) -> JSONObject:
        kubeconfig = args["workers"][worker]["kubeconfig"]
        if not is_plain(kubeconfig):
            look = partial(self._checked, args, worker)
            kubeconfig = pulumi.Output.from_input(kubeconfig).apply(look)
        secret: JSONDict = self._object("Secret", args, self._secret_name(worker))
        secret["metadata"]["namespace"] = args.get("namespace", KUEUE_NAMESPACE)
        data = pulumi.Output.secret(kubeconfig).apply(_base64)
        return {**secret, "apiVersion": "v1", "data": {_KEY: data}}

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


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _readable(workers: Mapping[str, WorkerArgs]) -> Mapping[str, str | None]:
    """By which kubeconfig each worker can be asked now; None where there is none.

    A worker whose kubeconfig is an Output is asked when that is known.
    """
    chosen = {
        name: worker.get("preview_kubeconfig", worker.get("kubeconfig"))
        for name, worker in workers.items()
    }
    return {
        name: _in_home(each) if each else None
        for name, each in chosen.items()
        if each is None or isinstance(each, str)
    }


def _in_home(kubeconfig: str) -> str:
    """A text as it is, and a path with the home folder in place of `~`."""
    return str(File(kubeconfig).expanduser()) if kubeconfig.startswith("~") else kubeconfig


def _judge_worker(problems: ArgumentProblems, at: Path, worker: object) -> None:
    found = problems.plain_fields(at, worker, (*_SOURCES, "preview_kubeconfig"))
    given = [each for each in _SOURCES if each in found]
    if is_plain(worker) and len(given) != 1:
        what = f"must have exactly one of {', '.join(_SOURCES)}"
        problems.add(at, what, ", ".join(given) or None)
    for field in ("secret", "path", "cluster_profile"):
        if field in found:
            problems.judge_text((*at, field), found[field], _LOCATION)
    if isinstance(text := found.get("kubeconfig"), str):
        _judge_kubeconfig(problems, (*at, "kubeconfig"), text)


def _judge_kubeconfig(problems: ArgumentProblems, at: Path, text: str) -> None:
    for what, fix in kubeconfig_problems(text):
        problems.add(at, what, fix=fix)


def _judge_expectations(problems: ArgumentProblems, expects: object) -> None:
    at: Path = ("expects",)
    for key, names in problems.plain_fields(at, expects, tuple(KINDS)).items():
        for each in problems.plain_list((*at, key), names, 10_000):
            problems.judge_text((*at, key), each, {"maxLength": 512, "minLength": 1})
            if isinstance(each, str) and key in _WITH_NAMESPACE and each.count("/") != 1:
                problems.add((*at, key), "must be NAMESPACE/NAME", each)
