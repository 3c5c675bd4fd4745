"""mpirun, torchrun or python: what starts a Python program that travels with the job.

Each framework says it in its plugin (`phases.Plugin.launcher`). Pure.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra.api.runtime import Runtime
from trainer_infra.render.phases import Launcher, Plugin

PYTHON: Final = Launcher(lambda _variables: ("python",))
"""Of frameworks that have none of their own."""


def launcher_on(runtime: Runtime, plugins: Iterable[Plugin]) -> Launcher:
    """What starts a program on the runtime: of several plugins that say it, the last in run order."""
    chosen = PYTHON
    for plugin in plugins:
        chosen = (plugin.launcher(runtime) if plugin.launcher else None) or chosen
    return chosen
