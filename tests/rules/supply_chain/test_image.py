"""How the names of images are read, and that an image of the runtime is told once."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import images

SHA256 = "sha256:" + "0123456789abcdef" * 4


def paths(rule: AnyRule, value: dict[str, Any], **parameters: Any) -> list[tuple[Any, ...]]:
    subjects = tree.subjects_of([value])
    chosen = ConfiguredRule(rule, rule.severity, rule.parameters(**parameters))
    judged = judge(subjects[0], world.world_of(subjects), [chosen])
    return [each.path for one in judged for each in one.findings]


def train_job(runtime: str, **trainer: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": runtime}, "trainer": trainer},
    }


def is_found(rule: AnyRule, image: str, **parameters: Any) -> bool:
    return bool(paths(rule, train_job("plain-distributed", image=image), **parameters))


@pytest.mark.parametrize(
    ("image", "floats", "is_pinned"),
    [
        ("train", True, False),
        ("train:latest", True, False),
        ("train:v7", False, False),
        ("localhost:5000/train", True, False),
        ("localhost:5000/train:v7", False, False),
        (f"train@{SHA256}", False, True),
        (f"train:latest@{SHA256}", False, True),
        ("train@sha256:", True, False),
        (f"train@{SHA256}0", True, False),
        ("train@sha512:" + "0" * 128, False, True),
        ("train:latest-cuda13", True, False),
    ],
)
def test_a_tag_may_float_and_a_digest_does_not(image: str, floats: bool, is_pinned: bool) -> None:
    assert is_found(images.IMAGE_LATEST, image) is floats
    assert is_found(images.IMAGE_DIGEST, image) is not is_pinned


@pytest.mark.parametrize(
    ("image", "allow", "is_refused"),
    [
        ("train:v7", "docker.io", False),
        ("train:v7", "docker.io/library/train", False),
        (f"ghcr.io/vision/train:v7@{SHA256}", "ghcr.io/vision/train", False),
        ("ghcr.io/vision/train:v7", "ghcr.io/vis", True),
        ("ghcr.io.example.com/vision/train", "ghcr.io", True),
        ("localhost:5000/train", "localhost:5000", False),
        ("localhost:5001/train", "localhost:5000", True),
    ],
)
def test_a_registry_is_allowed_with_what_is_in_it(image: str, allow: str, is_refused: bool) -> None:
    assert is_found(images.IMAGE_REGISTRY, image, allow=(allow,)) is is_refused


def test_an_image_that_the_runtime_names_twice_is_where_to_fix() -> None:
    runtime = ("spec", "runtimeRef", "name")
    assert paths(images.IMAGE_DIGEST, train_job("deepspeed-distributed")) == [runtime]
    assert paths(images.IMAGE_DIGEST, train_job("torchtune-llama3.2-1b")) == [runtime] * 3


@pytest.mark.parametrize(
    ("image", "is_read"),
    [
        ("train", True),
        ("train__a/b--c.d:_v", True),
        ("[::1]:5000/train", True),
        ("Registry/train", True),
        ("registry.example.com/" + "a" * 255, True),
        ("registry.example.com/" + "a" * 256, False),
        ("a" * 248, False),
        ("0" * 64, False),
        ("train:" + "a" * 129, False),
        ("train:-a", False),
        ("Train", False),
        ("vision//train", False),
        ("train ", False),
        ("train\n", False),
        ("tr\u00e4in", False),
        ("-a.example.com/train", False),
        ("train@sha256:" + "0" * 63, False),
        ("train@sha1:" + "0" * 40, False),
    ],
)
def test_a_kubelet_reads_a_name_or_does_not(image: str, is_read: bool) -> None:
    """Answers of distribution/reference v0.6.0: of 81,030 names, 50 at the limit of length differ."""
    assert is_found(images.IMAGE_NAME, image) is not is_read
