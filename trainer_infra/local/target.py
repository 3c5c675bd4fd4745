"""This machine as a Target.

A retry is the same run: its logs, its reports and the folders of its pods are those of the new try; volume claims stay, as a
cluster keeps them.
"""

import platform
import shutil
from typing import Final

from trainer_infra import home_folders
from trainer_infra.errors import Problem, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.local import (
    capacity,
    copied_sources,
    ports,
    processes,
    run_folder,
    run_record,
    runs,
    supervision,
    unsupported_fields,
)
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Owner, Run, RunKey

TIMEOUT: Final = 20.0
"""Seconds to wait for the supervisor."""


def retry_run(key: RunKey) -> Run:
    """Run a run again that failed.

    Raises:
        NotAvailable: There is no such run, or its supervisor cannot be started.
        Refused: It is another owner's by now, or has not failed.
    """
    target = run_folder.folder_of(key.namespace, key.name)
    with run_folder.locked_folder(target):
        run = run_record.present_run(target, key.uid, key.owner)
        if not sentences.may_be_retried(run):
            raise Refused(sentences.no_retry(run))
        supervision.end_supervisor(target, TIMEOUT)
        processes.kill_everywhere(run.uid)
        for part in (target.pods, target.logs):
            shutil.rmtree(part)
            part.mkdir(mode=0o700)
        target.metrics.unlink(missing_ok=True)
        target.status.unlink()
        supervision.start_supervisor(target, TIMEOUT)
        return run_record.present_run(target, run.uid)


class ThisMachine:
    """Runs that are processes here; keeps `runs.target.Target`."""

    runtimes = None
    submit = staticmethod(runs.submit)
    get = staticmethod(runs.get)
    list_runs = staticmethod(runs.list_runs)
    suspend = staticmethod(runs.suspend)
    retry = staticmethod(retry_run)
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
