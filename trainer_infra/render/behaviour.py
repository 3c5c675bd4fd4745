"""How TrainJobs are decided: which plugins take part, and which deviations from the reference hold.

One value that every entry of render, trainers and lifecycle takes (`pipeline.render`,
`compose.compose`, `plan.plan`, `admission.judge_train_job`). `OURS` is the default everywhere; the
command line's `--like-reference` takes the deviations of `REFERENCE`.
"""

from dataclasses import dataclass
from typing import Final

from trainer_infra.render.deviation import ALL, Deviation
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What is decided with."""

    plugins: tuple[Plugin, ...] = PLUGINS
    """What renders and reports, in run order."""
    deviations: frozenset[Deviation] = ALL
    """Where ours is better than the reference; without one of them, exactly as the reference."""

    package_cache: str | None = None
    """Address of the folder in which pods keep packages that they install, empty for one of each pod;
    None where the target installs them itself."""

    def ours(self, deviation: Deviation) -> bool:
        """Whether that deviation holds; otherwise the reference is followed in it."""
        return deviation in self.deviations


OURS: Final = Behaviour()
"""Our plugins with every deviation."""
REFERENCE: Final = Behaviour(deviations=frozenset())
"""Our plugins, deciding exactly as Kubeflow Trainer v2.3.0, its defects included."""
