"""A function that a framework is prepared for: what CustomTrainer packs, and the framework's part beside it.

In the pod `in_pod/main.py` enters the context of `in_pod/frameworks/NAME.py`, and calls the
function with what that gives.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.pods import pod_library
from trainer_infra.trainers.trainer import PackedProgram


@dataclass(frozen=True, slots=True)
class PreparedFramework:
    """A framework, and what the function may take of it."""

    name: str
    """Of its file in `in_pod/frameworks`."""
    settings: Mapping[str, Any]
    """What that file gets, as JSON."""
    arguments: tuple[str, ...]
    """Names of the arguments that it gives; the function takes those that it wants."""
    policies: tuple[str, ...] = ("torch",)
    """Fields of a runtime's mlPolicy of which it needs one."""

    def packed(self, trainer: CustomTrainer, problems: Iterable[Problem]) -> PackedProgram:
        """What a TrainJob needs.

        Raises:
            InvalidInput: holds every problem of the function, its pods and the framework's own fields.
        """
        found = tuple(problems)
        try:
            packed = trainer.packed_with(self.arguments)
        except InvalidInput as error:
            raise InvalidInput((*error.problems, *found)) from None
        launch = json.loads(packed.code.files["launch.json"])
        if "function" not in launch:
            what, fix = f"must be a function, which {self.name} is prepared for", '"train.py:train"'
            found = (Problem("train", what, fix=f"write {fix}"), *found)
        if found:
            raise InvalidInput(found)
        framework = {"name": self.name, "settings": self.settings}
        files = {
            **packed.code.files,
            **pod_library.framework_files(self.name),
            "launch.json": json.dumps({**launch, "framework": framework}),
        }
        return replace(packed, code=replace(packed.code, files=files, policies=self.policies))
