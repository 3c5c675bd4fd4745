"""A kind that is misspelt, and an object without version, are findings; what no rule judges is counted."""

import pytest

from tests.review import checked

SPEC = "metadata: {name: a}\nspec: {runtimeRef: {name: torch-distributed}}\n"
OURS = "apiVersion: trainer.kubeflow.org/v1alpha1\n"


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (f"{OURS}kind: Trainjob\n", "kind: is not a kind of trainer.kubeflow.org, got 'Trainjob'"),
        (
            f"{OURS}kind: PyTorchJob\n",
            "kind: is not a kind of trainer.kubeflow.org, got 'PyTorchJob'",
        ),
        (
            "apiVersion: v1\nkind: TrainingRuntim\n",
            "is not a known kind, got 'TrainingRuntim'",
        ),
        ("kind: Trainjob\n", "kind: is not a known kind, got 'Trainjob'"),
        ("kind: TrainJob\n", "apiVersion: is required"),
        (OURS, "kind: is required"),
        (
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueues\n",
            "is not a kind of kueue.x-k8s.io",
        ),
    ],
)
def test_what_is_no_object_of_ours_by_a_letter_is_a_finding(head: str, sentence: str) -> None:
    report = checked.of_text(head + SPEC, "schema")
    assert [sentence in each.clause() for each in report.failing()] == [True]


@pytest.mark.parametrize(
    "head",
    [
        "",
        "kind: values\n",
        "apiVersion: v1\nkind: Service\n",
        "apiVersion: gateway.example.com/v1\nkind: Topology\n",
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\n",
    ],
)
def test_what_is_of_others_is_none_of_ours(head: str) -> None:
    assert checked.of_text(head + SPEC, "schema").items == ()


def test_the_report_names_kinds_that_no_rule_judges() -> None:
    others = "---\n".join(f"apiVersion: v1\nkind: {each}\n{SPEC}" for each in ("Service", "Role"))
    report = checked.of_text(f"{OURS}kind: TrainJob\n{SPEC}---\n{others}", "privileged")
    assert report.objects == 3
    assert report.unjudged == {"Role": 1, "Service": 1}
