"""The types of the wire form are those of the typed kinds, and the Literal is the catalog."""

from typing import Any, get_args

import pytest
from pydantic import BaseModel

from trainer_infra import catalog
from trainer_infra.api import trainjob
from trainer_infra.catalog.runtime_names import RuntimeName
from trainer_infra.trainers import wire_types

PAIRS: dict[Any, type[BaseModel]] = {
    wire_types.TrainerArgs: trainjob.Trainer,
    wire_types.InitializerArgs: trainjob.Initializer,
    wire_types.DatasetInitializerArgs: trainjob.DatasetInitializer,
    wire_types.ModelInitializerArgs: trainjob.ModelInitializer,
    wire_types.RuntimePatchArgs: trainjob.RuntimePatch,
}


@pytest.mark.parametrize("written", PAIRS)
def test_a_typed_dict_has_the_fields_of_the_typed_kind(written: Any) -> None:
    fields = PAIRS[written].model_fields
    assert list(written.__annotations__) == [str(each.alias) for each in fields.values()]
    needed = {str(each.alias) for each in fields.values() if each.is_required()}
    assert written.__required_keys__ == needed


def test_the_names_of_runtimes_are_those_of_the_catalog() -> None:
    assert get_args(RuntimeName) == tuple(each.name for each in catalog.RUNTIMES)
