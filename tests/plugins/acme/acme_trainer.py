"""A trainer of another package, with a launcher of its own: fits a line with several workers in each pod."""

import json
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.pods import pod_library
from trainer_infra.trainers.pods.pod_arguments import PythonPodArguments
from trainer_infra.trainers.trainer import PackedProgram

PROGRAM, LAUNCHER = "acme_fit.py", "acme_launcher.py"


@dataclass(frozen=True, slots=True)
class AcmeTrainer(PythonPodArguments):
    """Fits y = 3x + 2 to so many points, which the workers of a pod share."""

    points: int
    _: KW_ONLY
    workers: int = 2

    def pack(self) -> PackedProgram:
        """The program, its launcher, the trainer and the secrets."""
        if problems := [*self.shape_problems(), *self._problems(), *self.pod_problems()]:
            raise InvalidInput(problems)
        here = Path(__file__).parent
        files = {
            **pod_library.launcher_files(),
            "launch.json": json.dumps({"script": PROGRAM}),
            **{f"source/{file}": (here / file).read_text() for file in (PROGRAM, LAUNCHER)},
        }
        launcher = ("python", f"{names.CODE_MOUNT}/source/{LAUNCHER}", str(self.workers), "python")
        code = self.code(files, launcher=launcher)
        return PackedProgram(code, self.spec_trainer([str(self.points)]), self.secret_data())

    def _problems(self) -> Iterator[Problem]:
        if self.points < 2 * self.workers:
            fix = f"give at least {2 * self.workers}"
            yield Problem("points", "are too few for the workers", got=self.points, fix=fix)
