"""A catalog declares shipped runtimes: their content, their mirrors, their frozen copies."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes
import pytest

from tests.platform.declared_resources import as_object, declared_objects, declared_resources
from trainer_infra import catalog, names, platform
from trainer_infra.json_values import JSONObject, json_leaves
from trainer_infra.platform.catalog_content import mirrored_image
from trainer_infra.rules.node_pool import PoolSpec


def runtimes(**args: Any) -> dict[str, JSONObject]:
    """What a catalog declares, by name."""
    made = declared_objects(lambda: platform.RuntimeCatalog("runtimes", **args))
    return {key.removeprefix("ClusterTrainingRuntime/"): each for key, each in made.items()}


def test_all_shipped_runtimes_are_declared_as_they_are_shipped() -> None:
    made = runtimes()
    assert made.keys() == {each.name for each in catalog.RUNTIMES}
    for each in catalog.RUNTIMES:
        shipped, found = each.runtime().to_wire(), made[each.name]
        own = {
            key: found["metadata"]["labels"][key]
            for key in (names.CONTENT_LABEL, names.CATALOG_LABEL)
        }
        labels = {**shipped["metadata"]["labels"], **own}
        assert found == {**shipped, "metadata": {"name": each.name, "labels": labels}}
        assert len(own[names.CONTENT_LABEL]) == 8
    contents = [each["metadata"]["labels"][names.CONTENT_LABEL] for each in made.values()]
    assert len(set(contents)) == len(contents)


def test_runtimes_are_children_of_the_catalog() -> None:
    component, *made = declared_resources(
        lambda: platform.RuntimeCatalog("runtimes", runtimes=["torch-distributed"])
    )
    assert component.kind == "trainer:index:RuntimeCatalog"
    assert [(each.kind, each.name, each.parent) for each in made] == [
        (
            "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime",
            "runtimes:torch-distributed",
            component.urn,
        )
    ]


def test_a_catalog_of_another_name_knows_its_own_runtimes() -> None:
    def identity(name: str) -> str:
        made = declared_objects(
            lambda: platform.RuntimeCatalog(name, runtimes=["plain-distributed"])
        )
        (found,) = made.values()
        return str(found["metadata"]["labels"][names.CATALOG_LABEL])

    assert identity("a") == identity("a") != identity("b")


def test_images_come_from_mirrors() -> None:
    mirrors = {
        "ghcr.io/kubeflow/trainer": "mirror.example.com/trainer",
        "docker.io": "mirror.example.com/hub",
    }
    made = runtimes(images=mirrors, runtimes=["torch-distributed-with-cache", "jax-distributed"])
    cache = {
        leaf for _, leaf in json_leaves(made["torch-distributed-with-cache"]) if ":v" in str(leaf)
    }
    assert cache == {
        "mirror.example.com/trainer/dataset-initializer:v2.3.0",
        "mirror.example.com/trainer/data-cache:v2.3.0",
    }
    assert made["jax-distributed"]["spec"] == catalog.get("jax-distributed").to_wire()["spec"]


MIRRORED = {
    ("pytorch/pytorch:2", "docker.io"): "m/pytorch/pytorch:2",
    ("pytorch/pytorch:2", "pytorch"): "m/pytorch:2",
    ("pytorch/pytorch:2", "pytorch/pytorch"): "m:2",
    ("pytorch/pytorch:2", "pytorch/py"): "pytorch/pytorch:2",
    ("python", "docker.io"): "m/library/python",
    ("localhost/a", "docker.io"): "localhost/a",
    ("r.example.com:5000/a@sha256:1", "r.example.com:5000"): "m/a@sha256:1",
    ("r.example.com/a", "r.example.com/"): "ma",
}


@pytest.mark.parametrize(("image", "prefix"), MIRRORED)
def test_a_mirror_stands_for_whole_parts_of_a_name(image: str, prefix: str) -> None:
    assert mirrored_image(image, {prefix: "m"}) == MIRRORED[image, prefix]


def test_pods_that_name_no_service_account_get_one() -> None:
    made = runtimes(service_account="training")
    accounts = {
        (name, job["name"]): job["template"]["spec"]["template"]["spec"]["serviceAccountName"]
        for name, each in made.items()
        for job in each["spec"]["template"]["spec"]["replicatedJobs"]
    }
    others = {key: each for key, each in accounts.items() if each != "training"}
    assert len(accounts) > len(made)
    assert others == {
        (
            "torch-distributed-with-cache",
            "dataset-initializer",
        ): "kubeflow-trainer-cache-initializer"
    }


def test_the_longest_mirror_counts() -> None:
    images = {"ghcr.io": "a", "ghcr.io/kubeflow": "b", "ghcr.io/kubeflow/other": "c"}
    assert mirrored_image("ghcr.io/kubeflow/trainer", images) == "b/trainer"


def test_a_runtime_of_ones_own_stands_beside_shipped_ones() -> None:
    wire = {**catalog.get("torch-distributed").to_wire(), "metadata": {"name": "ours"}}
    ours = type(catalog.get("torch-distributed")).from_wire(wire)
    assert runtimes(runtimes=["jax-distributed", ours]).keys() == {"jax-distributed", "ours"}


def test_a_pool_wires_every_runtime_and_changes_its_content() -> None:
    pool = PoolSpec(
        name="h100",
        resource="nvidia.com/gpu",
        gpus_per_node=8,
        max_nodes=2,
        capacity={"nvidia.com/gpu": 8},
        labels={},
        node_labels={},
        tolerations=({"key": "nvidia.com/gpu", "operator": "Exists"},),
    )
    (plain,) = runtimes(runtimes=["torch-distributed"]).values()
    (wired,) = runtimes(runtimes=["torch-distributed"], transform=pool.wired_runtime).values()

    assert wired["spec"] == pool.wired_runtime(catalog.get("torch-distributed").to_wire())["spec"]
    contents = [each["metadata"]["labels"][names.CONTENT_LABEL] for each in (plain, wired)]
    assert contents[0] != contents[1]


def test_a_frozen_copy_is_named_by_its_content_and_listed_by_no_sdk() -> None:
    made = runtimes(
        runtimes=["torch-distributed", "jax-distributed"], versioned=["jax-distributed"]
    )
    plain = made["jax-distributed"]
    labels = dict(plain["metadata"]["labels"])
    name = f"jax-distributed-{labels[names.CONTENT_LABEL]}"
    del labels[names.FRAMEWORK_LABEL]

    assert made.keys() == {"torch-distributed", "jax-distributed", name}
    assert made[name] == {
        **plain,
        "metadata": {"name": name, "labels": {**labels, names.VERSION_OF_LABEL: "jax-distributed"}},
    }


def test_outputs_name_copies_and_what_is_deprecated() -> None:
    seen: list[Any] = []

    def program() -> None:
        made = platform.RuntimeCatalog("runtimes", runtimes=["jax-distributed"], versioned=True)
        seen.append(made.versions)
        made.deprecated.apply(seen.append)

    objects = declared_objects(program)
    copies = [key.partition("/")[2] for key in objects if key.count("-") == 2]
    assert seen == [{"jax-distributed": copies[0]}, []]


def test_a_provider_of_the_programs_own_needs_its_kubeconfig() -> None:
    def program(**args: Any) -> None:
        there = pulumi_kubernetes.Provider("east", kubeconfig="east")
        opts = pulumi.ResourceOptions(providers=[there])
        platform.RuntimeCatalog("it", runtimes=["jax-distributed"], opts=opts, **args)

    made = declared_resources(lambda: program(kubeconfig=pulumi.Output.from_input("east")))
    assert "providers:kubernetes::east" in made[-1].provider
    assert as_object(made[-1])["metadata"]["name"] == "jax-distributed"
    with pytest.raises(pulumi.RunError, match="RuntimeCatalog it: kubeconfig: is missing, and the"):
        declared_resources(program)


TORCHTUNE = [each.name for each in catalog.RUNTIMES if each.framework == "torchtune"]
NO_COPY = (
    "can have no frozen copy: Trainer reads the model of TorchTune from the runtime's name, which has "
    "three parts"
)
MISTAKES: Mapping[str, tuple[dict[str, Any], str]] = {
    "an argument that is none": ({"mirror": {}}, "mirror: is not an argument; use runtimes,"),
    "a runtime alone": (
        {"runtimes": "torch-distributed"},
        "runtimes: must be a list, got 'torch-distributed'; write runtimes=",
    ),
    "a runtime that is not shipped": (
        {"runtimes": ["torch-distribute"]},
        "runtimes: is not a shipped runtime, got 'torch-distribute'; did you mean torch-distributed",
    ),
    "a runtime that is not a name": ({"runtimes": [{}]}, "runtimes[0]: must be a text or a ClusterTrainingRuntime, got {}"),
    "a runtime twice": (
        {"runtimes": ["jax-distributed", "jax-distributed"]},
        "runtimes: is a duplicate; values must be unique, got 'jax-distributed'",
    ),
    "a mirror that is not a text": (
        {"runtimes": ["jax-distributed"], "images": {"nvcr.io": 1}},
        "images[nvcr.io]: must be a text, got 1; write images=",
    ),
    "a mirror of nothing": (
        {"runtimes": ["jax-distributed"], "images": {"quay.io": "m"}},
        "images: is the beginning of no image of the chosen runtimes, got 'quay.io'; they have nvcr",
    ),
    "mirrors that are none": ({"images": "m"}, "images: must be a mapping, got 'm'; write images="),
    "a copy of a runtime for TorchTune": (
        {"runtimes": ["jax-distributed", TORCHTUNE[0]], "versioned": True},
        f"versioned: {NO_COPY}, got '{TORCHTUNE[0]}'; write versioned=['jax-distributed']",
    ),
    "a service account": (
        {"runtimes": ["jax-distributed"], "service_account": "A"},
        "service_account: must be lower-case letters, digits, - and ., and begin",
    ),
    "a copy of no runtime": (
        {"runtimes": ["jax-distributed"], "versioned": ["a"]},
        "versioned: is not one of the runtimes, got 'a'; use ['jax-distributed']",
    ),
    "a transform that gives nothing": (
        {"runtimes": ["jax-distributed"], "transform": lambda _: None},
        "transform of jax-distributed: must give a runtime in wire form",
    ),
    "a transform that names it anew": (
        {
            "runtimes": ["jax-distributed"],
            "transform": lambda each: {**each, "metadata": {"name": "other"}},
        },
        "transform of jax-distributed: metadata.name: must leave the runtime its name, got 'other'",
    ),
    "a transform that makes no runtime": (
        {
            "runtimes": ["jax-distributed"],
            "transform": lambda each: {**each, "spec": {**each["spec"], "mlPolicies": {}}},
        },
        "transform of jax-distributed: spec.mlPolicies:",
    ),
    "a transform whose runtime is not known": (
        {
            "runtimes": ["jax-distributed"],
            "transform": lambda each: {**each, "spec": pulumi.Output.from_input(each["spec"])},
        },
        "transform of jax-distributed: must give a runtime that is known in preview, and this one",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bad_argument_is_one_sentence(mistake: str) -> None:
    args, sentence = MISTAKES[mistake]
    with pytest.raises(pulumi.RunError) as raised:
        runtimes(**args)
    said = str(raised.value)
    assert said.startswith(f"RuntimeCatalog runtimes: {sentence}")
    assert "\n" not in said


def test_one_runtime_may_be_named_without_a_list_for_its_frozen_copy() -> None:
    name = "torch-distributed"
    listed = declared_resources(lambda: platform.RuntimeCatalog("runtimes", versioned=[name]))
    named = declared_resources(lambda: platform.RuntimeCatalog("runtimes", versioned=name))
    # Pulumi registers what does not depend on another one in any order.
    assert {each.urn: each for each in named} == {each.urn: each for each in listed}


def test_a_hardened_runtime_is_installed_with_images_that_a_digest_pins() -> None:
    name, image = "plain-distributed-hardened", "python:3.13-slim"
    pinned = f"mirror.example.com/python@sha256:{'1' * 64}"
    (problem,) = platform.RuntimeCatalog.judge_arguments({"runtimes": [name]})
    assert str(problem) == (
        f"images: must pin by its digest each image of a hardened runtime, got '{image}'; "
        f'write images={{"{image}": "{image}@sha256:…"}}'
    )
    made = runtimes(runtimes=[name], images={image: pinned})
    (job,) = made[name]["spec"]["template"]["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["template"]["spec"]["containers"][0]["image"] == pinned
