"""The schemas are data: made from named modules, complete, and read only when needed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools import schemas
from trainer_infra import names
from trainer_infra.api.shape import queue_schema_rules, schema, schema_rules
from trainer_infra.rules import RULES

JSON = dict[str, Any]

FOLDER = Path(schema.__file__).parents[1] / "schemas"
FILES = (
    "published.json",
    *(f"trainer-{each}.json" for each in schemas.OLDER),
    *("kueue.json", "kueue_workload.json"),
)
TRAINER, KUEUE = FILES[:-2], FILES[-2:]


@cache
def read(name: str) -> JSON:
    made: JSON = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return made


def inside(value: Any) -> Iterator[JSON]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from inside(item)
    if isinstance(value, list):
        for item in value:
            yield from inside(item)


def rules_in(*names: str) -> set[str]:
    found = (each.get("rule") for name in names for each in inside(read(name)))
    return {each for each in found if isinstance(each, str) and "oldSelf" not in each}


def test_every_rule_that_judges_one_object_is_known() -> None:
    ours = {"has(self.name) || has(self.generateName)"}
    assert rules_in(*TRAINER) == set(schema_rules.RULES) - ours


def test_every_rule_of_kueue_that_judges_one_object_is_known_or_said_by_a_policy_rule() -> None:
    said = {
        "self.flavors.all(x, size(x.resources) == size(self.coveredResources))": "covered-resources-order"
    }
    known = set(queue_schema_rules.RULES)
    assert rules_in(*KUEUE) == known | set(said)
    assert known & set(said) == set()
    assert {*said.values()} <= {each.id for each in RULES}


@pytest.mark.parametrize("name", FILES)
def test_every_reference_is_to_a_schema_that_is_there(name: str) -> None:
    file = read(name)
    references = {each["$ref"] for each in inside(file) if "$ref" in each}
    assert references == set(file["shared"])


def test_every_kind_and_version_of_kueue_has_a_schema() -> None:
    places = {place for name in KUEUE for place in read(name)["kinds"]}
    versions = {each.rpartition("/")[2] for each in names.KUEUE_VERSIONS}
    assert places == {f"{version}/{kind}" for version in versions for kind in names.KUEUE_KINDS}


def test_the_schemas_name_their_modules_versions_and_hashes() -> None:
    provenance = json.loads((FOLDER / "provenance.json").read_text(encoding="utf-8"))
    assert [(each["kind"], each["module"], each["version"]) for each in provenance] == [
        ("TrainJob", "github.com/kubeflow/trainer/v2", "v2.3.0"),
        ("TrainingRuntime", "github.com/kubeflow/trainer/v2", "v2.3.0"),
        ("ClusterTrainingRuntime", "github.com/kubeflow/trainer/v2", "v2.3.0"),
        ("JobSet", "sigs.k8s.io/jobset", "v0.12.0"),
        *((kind, *schemas.KUEUE) for kind in schemas.KUEUE_CRDS),
        *(
            (kind, "github.com/kubeflow/trainer/v2", version)
            for version in ("v2.0.1", "v2.1.0", "v2.2.1")
            for kind in ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")
        ),
    ]
    assert (*schemas.OLDER, "2.3") == schema.VERSIONS
    assert {len(each["sha256"]) for each in provenance} == {64}


def test_importing_the_kinds_reads_no_schema() -> None:
    program = (
        "import pathlib\n"
        "def refuse(self, *args, **kwargs): raise AssertionError(self)\n"
        "pathlib.Path.read_text = refuse\n"
        "import trainer_infra.api.trainjob, trainer_infra.api.runtime, trainer_infra.api.manifests\n"
        "try: trainer_infra.api.trainjob.TrainJob.from_wire({})\n"
        "except AssertionError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert Path(done.stdout.strip()) == FOLDER / "published.json"
