"""This machine as a Target."""

import platform

from trainer_infra import home_folders
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local import capacity, copied_sources, ports, retry, runs, unsupported_fields
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs.run import Owner


class ThisMachine:
    """Runs that are processes here; keeps `runs.target.Target`."""

    runtimes = None
    submit = staticmethod(runs.submit)
    get = staticmethod(runs.get)
    list_runs = staticmethod(runs.list_runs)
    suspend = staticmethod(runs.suspend)
    retry = staticmethod(retry.retry_run)
    update_secrets = staticmethod(runs.update_secrets)
    repair = staticmethod(runs.repair)
    give = staticmethod(runs.give)
    delete = staticmethod(runs.delete)
    logs = staticmethod(runs.logs)
    history = staticmethod(runs.history)

    def host(self, _namespace: str = "") -> str:
        """The machine's name."""
        return platform.node()

    def is_here(self, host: str, _namespace: str) -> bool:
        """Whether a host is this machine."""
        return host == platform.node()

    def answers(self) -> bool:
        """Always."""
        return True

    def controller(self) -> str:
        """None."""
        return ""

    def problems(
        self,
        _job: JSONObject,
        objects: tuple[JSONObject, ...],
        _controller: str = "",
    ) -> tuple[Problem, ...]:
        """What this machine cannot run."""
        return unsupported_fields.unsupported_here(objects)

    def behaviour(
        self, plugins: tuple[Plugin, ...], _owner: Owner, _controller: str = ""
    ) -> Behaviour:
        """The plugins alone: nothing is stored under the names of objects."""
        return Behaviour(plugins)

    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        """Ports that something else listens on, what this machine has less of, and what is copied."""
        lacking = capacity.capacity_warnings(objects, capacity.Machine.here())
        copied = copied_sources.source_warnings(objects, home_folders.state_home())
        return (*map(str, ports.ports_in_use(objects)), *lacking, *copied)

    def unseen(self, _namespace: str) -> str:
        """Nothing: the runs here are the user's own."""
        return ""
