"""Two runtime patches on one field: what is said of them. Merge keys: reference behaviour 4.3."""

from typing import Any

import pytest

from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import runtime_patches

POD = "template.spec.replicatedJobs[node].template.spec.template.spec"


def sentences(*templates: dict[str, Any]) -> list[str]:
    patches = [
        {"manager": f"m{position}.io/x", "trainingRuntimeSpec": {"template": template}}
        for position, template in enumerate(templates)
    ]
    spec = {"runtimeRef": {"name": "r"}, "runtimePatches": patches}
    found = runtime_patches.conflict_sentences(
        TrainJob.from_wire({"metadata": {"name": "t"}, "spec": spec})
    )
    return list(found)


def pods(job: str = "node", **spec: Any) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": spec}}}
    return {"spec": {"replicatedJobs": [{"name": job, "template": template}]}}


def said(field: str, new: str, old: str, later: int = 1, first: int = 0) -> str:
    return (
        f"spec.runtimePatches[{later}] (manager m{later}.io/x) sets {field} to {new}, which "
        f"spec.runtimePatches[{first}] (manager m{first}.io/x) sets to {old}; the later one wins"
    )


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (
            pods(serviceAccountName="a"),
            pods(serviceAccountName="b"),
            [said(f"{POD}.serviceAccountName", "'b'", "'a'")],
        ),
        (
            pods(nodeSelector={"a": "1", "b": "1"}),
            pods(nodeSelector={"b": "2", "c": "2"}),
            [said(f"{POD}.nodeSelector.b", "'2'", "'1'")],
        ),
        (
            {"metadata": {"labels": {"a.io/b": "1"}}},
            {"metadata": {"labels": {"a.io/b": "2"}}},
            [said("template.metadata.labels[a.io/b]", "'2'", "'1'")],
        ),
        (
            pods(tolerations=[{"key": "a"}]),
            pods(tolerations=[{"key": "b"}]),
            [said(f"{POD}.tolerations", "[{'key': 'b'}]", "[{'key': 'a'}]")],
        ),
        (
            pods(containers=[{"name": "c", "env": [{"name": "A", "value": "1"}]}]),
            pods(containers=[{"name": "c", "env": [{"name": "A", "value": "2"}]}]),
            [said(f"{POD}.containers[c].env[A].value", "'2'", "'1'")],
        ),
        (
            pods(volumes=[{"name": "v", "emptyDir": {}}]),
            pods(volumes=[{"name": "v", "hostPath": {"path": "/x"}}]),
            [
                said(
                    f"{POD}.volumes[v]",
                    "{'name': 'v', 'hostPath': {'path': '/x'}}",
                    "{'name': 'v', 'emptyDir': {}}",
                )
            ],
        ),
        (pods(serviceAccountName="a"), pods(serviceAccountName="a"), []),
        (pods(serviceAccountName="a"), pods("other", serviceAccountName="b"), []),
        (pods(imagePullSecrets=[{"name": "a"}]), pods(imagePullSecrets=[{"name": "b"}]), []),
        ({}, pods(serviceAccountName="a"), []),
    ],
)
def test_a_field_that_two_patches_set_otherwise_is_named(
    one: dict[str, Any], other: dict[str, Any], expected: list[str]
) -> None:
    assert sentences(one, other) == expected


def test_each_patch_is_compared_with_the_one_before_it_that_set_the_field() -> None:
    first, middle, last = (pods(serviceAccountName=name) for name in ("a", "b", "a"))
    assert sentences(first, {}, middle, last) == [
        said(f"{POD}.serviceAccountName", "'b'", "'a'", later=2),
        said(f"{POD}.serviceAccountName", "'a'", "'b'", later=3, first=2),
    ]
