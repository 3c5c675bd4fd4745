"""The examples that Trainer, JobSet and Kueue publish in their Go modules, checked as files of a repository."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from tests.review import checked
from tools import schemas
from trainer_infra.review import check, sources
from trainer_infra.review.check import CheckScope

pytestmark = pytest.mark.verify

TRAINER = ("github.com/kubeflow/trainer/v2", "v2.3.0")
JOBSET = ("sigs.k8s.io/jobset", "v0.12.0")
KUEUE = ("sigs.k8s.io/kueue", "v0.19.0")

_MULTI_STEP = "05-multi-step.yaml"
EXAMPLES: Sequence[tuple[tuple[str, str], str, int, dict[tuple[str, str], str]]] = (
    (
        *(TRAINER, "examples/yaml", 7),
        {
            (_MULTI_STEP, rule): "Trainer's webhook refuses it: no volume `initializer` is mounted"
            for rule in ("initializer-mount", "renders")
        }
        | dict.fromkeys(
            ((each, "training-command") for each in ("03-kueue-integration.yaml", _MULTI_STEP)),
            "Python prints on each of several nodes: it shows a queue and an initializer, and trains nothing",
        ),
    ),
    (
        *(TRAINER, "examples/flux", 4),
        dict.fromkeys(
            (("lammps-train-gpus.yaml", "unique-name"), ("lammps-train-job.yaml", "unique-name")),
            "Both make the TrainJob lammps-flux: the second one changes the first",
        ),
    ),
    (TRAINER, "manifests/base/runtimes", 9, {}),
    (JOBSET, "config/samples", 2, {}),
    (KUEUE, "cmd/kueueviz/examples", 21, {}),
)
"""Module, folder, how many objects it has, and by file and rule why what is severe is right."""


@pytest.mark.parametrize(("module", "folder", "count", "reasons"), EXAMPLES)
def test_nothing_severe_is_found_in_a_published_example_without_a_reason(
    module: tuple[str, str], folder: str, count: int, reasons: dict[tuple[str, str], str]
) -> None:
    found = sources.read_sources([str(schemas.module_folder(*module) / folder)])
    asked = CheckScope(checked.by(), date(2026, 11, 26), problems=found.problems)
    report = check.check_documents(found.documents, asked)
    assert report.problems == ()
    assert report.objects == count
    severe = {(Path(each.place.file).name, each.rule.id) for each in report.failing()}
    assert severe == {*reasons}
    assert report.blind() == ()
