"""A patch is one of an object if kustomize would say so: by every name that the object had."""

from typing import Any

import pytest

from trainer_infra.review import documents, replacement_fields
from trainer_infra.review.documents import Document
from trainer_infra.review.kustomization_file import KustomizationPatch
from trainer_infra.review.patch_target import ObjectNames, is_target

WRITTEN = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
BUILT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "eu-prod-web-x", "namespace": "n", "labels": {"app": "web", "tier": "a"}},
}
LAYERS = [{"namePrefix": "eu-", "namespace": "n"}, {"namePrefix": "prod-", "nameSuffix": "-x"}]
(BASE,) = documents.read_documents(WRITTEN, "a.yaml")


def fits(value: Any, target: dict[str, str] | None) -> bool:
    """Whether a patch is one of the object that was built."""
    built = Document(BUILT, "a.yaml", BASE.source)
    names = ObjectNames.of(built, LAYERS)
    assert names.names == {"web", "prod-web-x", "eu-prod-web-x"}
    return is_target(KustomizationPatch(value, BASE, (), target), BUILT, names)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"metadata": {"name": "prod-web-x", "namespace": "n"}}, True),
        ({"metadata": {"name": "prod-web-x", "namespace": "other"}}, False),
        ({"metadata": {"name": "prod-web"}}, False),
        ({"kind": "StatefulSet"}, False),
        ({"apiVersion": "v1"}, False),
        ({"apiVersion": "apps/v1beta1"}, True),
        ({"metadata": None}, False),
    ],
)
def test_a_strategic_merge_patch_names_its_object(changed: dict[str, Any], expected: bool) -> None:
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    assert fits({**patch, **changed}, None) is expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"kind": "Deployment"}, True),
        ({"kind": "Deploy"}, False),
        ({"kind": "Deploy.*|Job", "name": "w.b"}, True),
        ({"group": "apps", "version": "v1", "namespace": "n"}, True),
        ({"group": "batch"}, False),
        ({"namespace": "m"}, False),
        ({"labelSelector": "app=web, tier==a"}, True),
        ({"labelSelector": "app=web,tier=b"}, False),
        ({"annotationSelector": "app=web"}, False),
        ({"name": "["}, False),
        ({}, True),
    ],
)
def test_a_target_selects_by_whole_expressions_and_by_labels(
    target: dict[str, str], expected: bool
) -> None:
    assert fits([], target) is expected
    assert not fits([], None)


def test_field_paths_lead_to_every_field_that_there_is() -> None:
    value = {"a": {"b.c": [{"name": "x", "v": 1}, {"name": "y", "v": 2}]}, "d": [1, [2]]}
    found = {
        path: list(replacement_fields.field_paths(value, path))
        for path in ("a.b\\.c.[name=y].v", "a.b\\.c.*.v", "a.[b.c].0", "d.1.0", "d.7", "none.x")
    }
    assert found == {
        "a.b\\.c.[name=y].v": [("a", "b.c", 1, "v")],
        "a.b\\.c.*.v": [("a", "b.c", 0, "v"), ("a", "b.c", 1, "v")],
        "a.[b.c].0": [],
        "d.1.0": [("d", 1, 0)],
        "d.7": [],
        "none.x": [],
    }
