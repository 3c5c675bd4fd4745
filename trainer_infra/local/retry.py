"""Running a run again that failed: the same run, with its folder as it was submitted.

Its logs, its reports and the folders of its pods are those of the new try; volume claims stay, as a
cluster keeps them.
"""

import shutil
from typing import Final

from trainer_infra.errors import Refused
from trainer_infra.local import processes, run_folder, run_record, supervision
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run, RunKey

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
