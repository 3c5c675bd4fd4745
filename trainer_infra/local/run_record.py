"""What a run's folder says of it: who declared it, and how it is now.

A user may have damaged the folder, and another release may have written it: what is unknown here
stays as it is, and what cannot be read is said.
"""

from contextlib import suppress
from dataclasses import asdict, replace

from trainer_infra.errors import NotAvailable, Refused, Unreadable
from trainer_infra.local import run_folder
from trainer_infra.local.run_folder import RunFolder
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Owner, Run, run_from_json


def look_up(target: RunFolder) -> Run | None:
    """What is recorded of a run; None when there is none. The owner is as last adopted.

    Raises:
        Unreadable: A file of its folder is damaged.
    """
    try:
        return _read(target)
    except (ValueError, RecursionError, OSError) as error:
        raise Unreadable(
            f"the folder {target.path} should be a run's and cannot be read: {error}; write it again "
            "as it was, or remove it"
        ) from None


def _read(target: RunFolder) -> Run | None:
    first = run_folder.read_json(target.run)
    if first is None and not target.run.exists():
        return None
    submitted = run_from_json(first)
    if (submitted.namespace, submitted.name) != (target.namespace, target.name):
        raise ValueError(f"run.json is of {submitted.namespace}/{submitted.name}")
    now = run_folder.read_json(target.status)
    return replace(run_from_json(now), owner=submitted.owner) if now is not None else submitted


def identified_run(target: RunFolder) -> Run | None:
    """The run as `look_up` has it, or as the one file says that is not damaged.

    Raises:
        Unreadable: Nothing says which run the folder is.
    """
    try:
        return look_up(target)
    except Unreadable:
        for file in (target.run, target.status):
            with suppress(ValueError, RecursionError, OSError):
                return run_from_json(run_folder.read_json(file))
        raise


def present_run(target: RunFolder, uid: str = "", owner: Owner | None = None) -> Run:
    """The run that must be there, whatever its uid and its owner where none is given.

    Raises:
        NotAvailable: There is no run of that name, or it has another uid.
        Refused: It is another owner's by now.
        Unreadable: Its folder is damaged.
    """
    run = look_up(target)
    if run is None or (uid and run.uid != uid):
        which = f"{target.namespace}/{target.name}{f' with uid {uid}' if uid else ''}"
        raise NotAvailable(f"there is no run {which} here")
    if owner is not None and not run.owner.is_same(owner):
        raise Refused(sentences.taken_by(run))
    return run


def give_owner(target: RunFolder, run: Run, owner: Owner) -> Run:
    """The run with a new owner, and all else that its file says, also by a later release."""
    run_folder.write_json(
        target.run, {**(run_folder.read_json(target.run) or {}), "owner": asdict(owner)}
    )
    return replace(run, owner=owner)
