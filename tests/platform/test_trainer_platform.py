"""The whole platform in one component: its parts, their order, and what keeps it from being destroyed."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pulumi
import pytest

from tests.platform.declared_resources import DeclaredResource, declared_resources
from trainer_infra import catalog, platform

GUARD = "pulumi-python:trainer:DestroyGuard"
OWNER = "pulumi-python:trainer:OwnerCheck"


def declared(program: Callable[[], object]) -> dict[str, DeclaredResource]:
    """What a program declares, by type and name."""
    return {f"{each.kind}::{each.name}": each for each in declared_resources(program)}


def components(made: dict[str, DeclaredResource], parent: str) -> Sequence[str]:
    found = (each for each in made.values() if each.parent.endswith(f"::{parent}"))
    return [each.kind.removeprefix("trainer:index:") for each in found]


@pytest.mark.usefixtures("kubectl_on_path")
def test_a_platform_has_jobset_trainer_and_kueue_with_runtimes_and_priorities() -> None:
    made = declared(lambda: platform.TrainerPlatform("it"))
    assert components(made, "it") == [
        OWNER,
        "JobSetController",
        "TrainerControlPlane",
        "Kueue",
        "RuntimeCatalog",
        "ResourceFlavor",
        *["WorkloadPriorityClass"] * 3,
        GUARD,
    ]
    runtimes = [each for each in made if ":ClusterTrainingRuntime::" in each]
    assert len(runtimes) == len(catalog.RUNTIMES)


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
def test_what_one_part_needs_comes_before_it() -> None:
    """A component is registered after what it depends on, and its children after it."""
    made = declared(lambda: platform.TrainerPlatform("it", gang="coscheduling", data_cache=True))
    parts = ("jobset", "leader-worker-set", "coscheduling", "trainer", "kueue")
    objects = {
        part: {each.urn for each in made.values() if each.name.startswith(f"it-{part}:")}
        for part in parts
    }
    by_name = {each.name: each for each in made.values()}
    for earlier, later in pairwise(parts):
        assert objects[earlier]
        assert objects[earlier] <= by_name[f"it-{later}"].dependencies
    assert by_name["it:owner"].urn in by_name["it-jobset"].dependencies
    for each in ("it-runtimes", "it-default-flavor", "it-high"):
        assert objects["trainer"] | objects["kueue"] <= by_name[each].dependencies


@pytest.mark.usefixtures("kubectl_on_path")
def test_one_guard_goes_before_everything_and_minds_only_what_others_made() -> None:
    made = declared(lambda: platform.TrainerPlatform("it"))
    (guard,) = (each for each in made.values() if each.kind == GUARD)
    others = {each.urn for each in made.values() if each.kind.startswith("kubernetes:")}
    assert others <= guard.dependencies
    kinds = {each["kind"] for each in guard.inputs["kinds"]}
    assert {"TrainJob", "JobSet", "Workload", "ClusterQueue", "ResourceFlavor"} <= kinds
    assert {"ResourceFlavor/default-flavor", "WorkloadPriorityClass/high"} <= set(
        guard.inputs["ignored"]
    )
    assert {each.partition("/")[0] for each in guard.inputs["ignored"]} <= kinds
    assert guard.inputs["landmark"]["name"] == "kubeflow-system"


@pytest.mark.usefixtures("kubectl_on_path")
def test_what_the_program_adds_can_be_kept_too() -> None:
    def program() -> None:
        plane = platform.TrainerPlatform("it")
        after = pulumi.ResourceOptions(depends_on=[plane])
        plane.protect(platform.ResourceFlavor("mine", opts=after))

    made = declared(program)
    _, guard = (each for each in made.values() if each.kind == GUARD)
    (mine,) = (each for each in made.values() if each.name == "mine:mine")
    assert mine.urn in guard.dependencies
    assert "ResourceFlavor/mine" in guard.inputs["ignored"]


@pytest.mark.usefixtures("kubectl_on_path")
def test_runtimes_are_those_of_the_gang_scheduler_after_what_the_program_makes_of_them() -> None:
    def transform(runtime: Mapping[str, Any]) -> dict[str, Any]:
        return {**runtime, "spec": {**runtime["spec"], "mlPolicy": {"numNodes": 3, "torch": {}}}}

    made = declared(
        lambda: platform.TrainerPlatform(
            "it",
            gang="volcano",
            runtimes={"runtimes": ["torch-distributed"], "transform": transform},
        )
    )
    (runtime,) = (each for each in made.values() if each.kind.endswith(":ClusterTrainingRuntime"))
    spec = runtime.inputs["spec"]
    (job,) = spec["template"]["spec"]["replicatedJobs"]
    assert spec["podGroupPolicy"] == {"volcano": {}}
    assert spec["mlPolicy"]["numNodes"] == 3
    assert job["template"]["spec"]["template"]["spec"]["schedulerName"] == "volcano"


@pytest.mark.usefixtures("kubectl_on_path")
def test_every_controller_gets_what_is_said_for_all_and_keeps_its_own() -> None:
    made = declared(
        lambda: platform.TrainerPlatform(
            "it",
            controllers={"image_pull_policy": "IfNotPresent", "replicas": 2},
            kueue={"replicas": 1},
            runtimes=False,
        )
    )
    deployments = {
        each.inputs["metadata"]["name"]: each.inputs["spec"]
        for each in made.values()
        if each.kind.endswith(":Deployment")
    }
    assert {name: each["replicas"] for name, each in deployments.items()} == {
        "jobset-controller-manager": 2,
        "kubeflow-trainer-controller-manager": 2,
        "kueue-controller-manager": 1,
    }
    for each in deployments.values():
        (container,) = each["template"]["spec"]["containers"]
        assert container["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize(
    ("args", "parts"),
    [
        ({"queueing": "none"}, ["jobset", "trainer"]),
        ({"queueing": "volcano"}, ["jobset", "volcano", "trainer"]),
        ({"gang": "volcano"}, ["jobset", "volcano", "trainer", "kueue"]),
        ({"jobset": False}, ["trainer", "kueue"]),
    ],
)
def test_parts_are_chosen(args: dict[str, Any], parts: list[str]) -> None:
    seen = []
    declared(lambda: seen.append(list(platform.TrainerPlatform("it", **args).parts)))
    assert seen == [parts]


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown argument": ({"queue": "kueue"}, "queue: is not an argument; did you mean kueue?"),
    "an unknown queueing": (
        {"queueing": "slurm"},
        "queueing: must be kueue or volcano or none, got 'slurm'",
    ),
    "an unknown gang": (
        {"gang": "kai"},
        "gang: must be coscheduling or volcano or none, got 'kai'",
    ),
    "arguments of what is not installed": (
        {"volcano": {"replicas": 1}},
        'volcano: has arguments, and is not installed; write gang="volcano"',
    ),
    "no Trainer": (
        {"trainer": False},
        "trainer: must be a mapping, got False",
    ),
    "what is left out by another argument": (
        {"kueue": False},
        'kueue: must be a mapping, got False; write queueing="none" to leave it out',
    ),
    "an answer in words": (
        {"data_cache": "false"},
        "data_cache: must be True or False, got 'false'",
    ),
    "a part's argument that is none": (
        {"jobset": {"replica": 1}},
        "jobset.replica: is not a known field here; did you mean replicas?",
    ),
    "a part's argument": (
        {"trainer": {"replicas": -1}},
        "trainer.replicas: must be at least 1, got -1",
    ),
    "a part's version": (
        {"kueue": {"version": "9.9"}},
        "kueue.version: is not a version of Kueue that this release of trainer-infra pins, got '9.9'",
    ),
    "a guard of a part": (
        {"jobset": {"guard": True}},
        "jobset.guard: is that of the platform; write guard= beside it",
    ),
    "an argument of every part": (
        {"controllers": {"image_pull_policy": "Sometimes"}},
        "controllers.image_pull_policy: must be Always, IfNotPresent or Never",
    ),
    "an argument of one part for all": (
        {"controllers": {"image": "a:1"}},
        "controllers.image: is not a known field here",
    ),
    "runtimes without their argument": (
        {"runtimes": ["torch-distributed"]},
        "runtimes: must be False or a mapping, got ['torch-distributed']",
    ),
    "a runtime that is none": (
        {"runtimes": {"runtimes": ["torch"]}},
        "runtimes.runtimes: is not a shipped runtime, got 'torch'",
    ),
    "a flavor's name": ({"default_flavor": "A b"}, "default_flavor: must"),
    "priorities without values": (
        {"priorities": ["low"]},
        "priorities: must be a mapping, got ['low']",
    ),
    "a priority of 33 bits": (
        {"priorities": {"high": 2**32}},
        "priorities.high: must be at most 2147483647, got 4294967296",
    ),
    "a cluster's version that is a number": (
        {"kubernetes": 1.34},
        "kubernetes: must be a text, got 1.34",
    ),
    "a cluster's version that is none": (
        {"kubernetes": "latest"},
        "Kubernetes: is not a version of Kubernetes of which anything is known, got 'latest'",
    ),
    "versions that do not work together": (
        {"jobset": {"version": "0.11.1"}},
        "Trainer: 2.3 was never seen to work with JobSet 0.11",
    ),
    "a cluster that is too old": (
        {"kubernetes": "1.30.2"},
        "Trainer: 2.3 is tried with Kubernetes 1.32 to 1.35, got 'Kubernetes 1.30'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bad_argument_is_a_sentence(mistake: str) -> None:
    args, sentence = MISTAKES[mistake]
    with pytest.raises(pulumi.RunError) as raised:
        declared(lambda: platform.TrainerPlatform("it", **args))
    assert sentence in str(raised.value)
    assert all(line.startswith("TrainerPlatform it: ") for line in str(raised.value).splitlines())


def test_all_bad_arguments_are_said_at_once() -> None:
    args: dict[str, Any] = {
        "controllers": {"replicas": 0},
        "jobset": {"version": "0.1"},
        "kueue": {"image": ""},
        "runtimes": {"runtimes": ["torch"]},
        "priorities": {"A": 1},
    }
    with pytest.raises(pulumi.RunError) as raised:
        declared(lambda: platform.TrainerPlatform("it", **args))

    paths = [line.split(": ")[1] for line in str(raised.value).splitlines()]
    assert paths == [
        "controllers.replicas", "jobset.version", "kueue.image", "runtimes.runtimes", "priorities.A"
    ]  # fmt: skip


def test_how_to_leave_a_part_out_is_not_said_of_its_fields() -> None:
    args: dict[str, Any] = {"kueue": {"replicas": "two"}}
    with pytest.raises(pulumi.RunError) as raised:
        declared(lambda: platform.TrainerPlatform("it", **args))
    sentence = "TrainerPlatform it: kueue.replicas: must be a whole number, got 'two'"
    assert str(raised.value) == sentence


def test_the_page_shows_what_a_preview_says_of_bad_arguments() -> None:
    args: dict[str, Any] = {"trainer": {"version": "2.4"}, "kueue": {"replicas": 0}}
    with pytest.raises(pulumi.RunError) as raised:
        declared(lambda: platform.TrainerPlatform("training", **args))

    page = Path(__file__).parents[2] / "docs" / "platform.md"
    assert f"```text\n{raised.value}\n```" in page.read_text()


@pytest.mark.usefixtures("kubectl_on_path")
def test_an_argument_of_a_part_that_is_none_leaves_what_all_parts_get() -> None:
    def policies(**args: Any) -> set[str]:
        made = declared_resources(lambda: platform.TrainerPlatform("it", runtimes=False, **args))
        specs = [each.inputs["spec"] for each in made if each.kind.endswith(":Deployment")]
        return {each["template"]["spec"]["containers"][0]["imagePullPolicy"] for each in specs}

    never = {"image_pull_policy": "Never"}
    assert policies(controllers=never, jobset={"image_pull_policy": None}) == {"Never"}
    assert policies(controllers=never, queueing=None, gang=None, kueue=None) == {"Never"}
