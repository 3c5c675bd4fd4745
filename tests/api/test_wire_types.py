"""The types of the wire form are those of the schemas and the typed kinds, and the Literal is the catalog."""

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import trainer_infra
from tools.arguments import generate
from trainer_infra import catalog
from trainer_infra.api import runtime, trainjob, wire_types
from trainer_infra.catalog.runtime_names import RuntimeName

PAIRS: dict[str, type[BaseModel]] = {
    "TrainerArgs": trainjob.Trainer,
    "InitializerArgs": trainjob.Initializer,
    "DatasetInitializerArgs": trainjob.DatasetInitializer,
    "ModelInitializerArgs": trainjob.ModelInitializer,
    "RuntimePatchArgs": trainjob.RuntimePatch,
    "TrainingRuntimeSpecArgs": runtime.TrainingRuntimeSpec,
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_typed_dict_has_the_fields_of_the_typed_kind(name: str) -> None:
    made: Any = getattr(trainer_infra, name)
    fields = PAIRS[name].model_fields
    assert set(made.__annotations__) == {str(each.alias) for each in fields.values()}
    needed = {str(each.alias) for each in fields.values() if each.is_required()}
    assert made.__required_keys__ == needed


def test_the_committed_types_are_those_of_the_schemas() -> None:
    folder = Path(wire_types.__file__).parent
    committed = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert committed == generate.generated_files(), "run `python -m tools.arguments.generate`"
    assert {text.splitlines()[0] for text in committed.values()} == {generate.FIRST_LINE}


def test_every_type_is_a_public_name() -> None:
    names = {f"{name}Args" for name in generate.found_classes()}
    assert {name for name in trainer_infra.__all__ if name.endswith("Args")} == names | {
        "LoraArgs",
        "TrainJobArgs",
    }
    for name in names:
        assert getattr(trainer_infra, name) is getattr(wire_types, name)


def test_the_names_of_runtimes_are_those_of_the_catalog() -> None:
    assert get_args(RuntimeName) == tuple(each.name for each in catalog.RUNTIMES)
