"""Names that a prefix changes: pods name the account that they run as in a field that kustomize knows not everywhere."""

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.shape.generated_names import GENERATED_NAME

KEY = ("ServiceAccount", "vision", "train")


@pytest.mark.parametrize(("namespace", "is_found"), [("vision", True), ("speech", False)])
def test_an_account_with_a_prefix_is_named_as_it_is_called_now(
    namespace: str, *, is_found: bool
) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "digits", "namespace": namespace},
        "spec": {"serviceAccountName": "train", "containers": [{"name": "node"}]},
    }
    (subject,) = tree.subjects_of([pod])
    around = world.world_of([subject], renamed={KEY: "prod-train"})
    judged = judge(subject, around, [ConfiguredRule.default(GENERATED_NAME)])
    found = [each.path for verdict in judged for each in verdict.findings]
    assert found == [("spec", "serviceAccountName")] * is_found
