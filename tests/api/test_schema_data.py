"""The schemas are data: made from named modules, complete, and read only when needed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainer_infra.api import schema, schema_rules

JSON = dict[str, Any]

FOLDER = Path(schema.__file__).parent / "schemas"
PUBLISHED = json.loads((FOLDER / "published.json").read_text(encoding="utf-8"))


def inside(value: Any) -> Iterator[JSON]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from inside(item)
    if isinstance(value, list):
        for item in value:
            yield from inside(item)


def test_every_rule_that_judges_one_object_is_known() -> None:
    rules = {each["rule"] for each in inside(PUBLISHED) if isinstance(each.get("rule"), str)}
    updates = {"self == oldSelf"}
    ours = {"has(self.name) || has(self.generateName)"}
    assert rules - updates == set(schema_rules.RULES) - ours


def test_every_reference_is_to_a_schema_that_is_there() -> None:
    references = {each["$ref"] for each in inside(PUBLISHED) if "$ref" in each}
    assert references == set(PUBLISHED["shared"])


def test_the_schemas_name_their_modules_versions_and_hashes() -> None:
    provenance = json.loads((FOLDER / "provenance.json").read_text(encoding="utf-8"))
    assert [(each["kind"], each["module"], each["version"]) for each in provenance] == [
        ("TrainJob", "github.com/kubeflow/trainer/v2", "v2.3.0"),
        ("TrainingRuntime", "github.com/kubeflow/trainer/v2", "v2.3.0"),
        ("ClusterTrainingRuntime", "github.com/kubeflow/trainer/v2", "v2.3.0"),
        ("JobSet", "sigs.k8s.io/jobset", "v0.12.0"),
    ]
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
