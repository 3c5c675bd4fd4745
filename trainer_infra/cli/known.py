"""A run by its name, or a sentence that names the runs there are.

Called by `get`, `logs` and `delete`.
"""

from trainer_infra.errors import NotAvailable
from trainer_infra.local import runs
from trainer_infra.local.runs import Run


def run(namespace: str, name: str) -> Run:
    """The run of that name.

    Raises:
        NotAvailable: there is none.
    """
    found = runs.get(namespace, name)
    if found is None:
        raise NotAvailable(missing(namespace, name))
    return found


def missing(namespace: str, name: str) -> str:
    """A sentence about a run that is not there."""
    here = ", ".join(each.name for each in runs.list_runs(namespace)) or "none"
    sentence = f"there is no run {name!r} in namespace {namespace}; its runs are: {here}"
    others = sorted({each.namespace for each in runs.list_runs() if each.name == name})
    hint = f"; namespace {', '.join(others)} has one of that name" if others else ""
    return sentence + hint
