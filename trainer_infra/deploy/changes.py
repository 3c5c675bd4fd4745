"""What a difference between two sets of inputs means: nothing, an update in place, a new run.

Pure; called by `train_job`, `members` and `train_job_result` for their diff. Only what the user said counts, never the rendering
(design rule 2).
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from pulumi.dynamic import DiffResult

from trainer_infra.deploy import boundary, digests, inputs
from trainer_infra.runs import identity

JSON = Mapping[str, Any]

IN_PLACE: Final = ("labels", "annotations", "secretData", "adopt", "deleteTimeout")


def of_train_job(olds: JSON, news: JSON) -> DiffResult:
    """Difference of two TrainJobs: old outputs, new inputs."""
    replaces = [key for key in ("name", *inputs.IDENTITY) if _differs(key, olds, news)]
    if digests.differs("code", olds, news):
        replaces.append("code")
    if digests.is_known("runtime", olds) and digests.differs("runtime", olds, news):
        replaces.append("runtime")
    if boundary.unknown(news.get("spec")) or (
        identity.identity_of_spec(news["spec"]) != identity.identity_of_spec(olds["spec"])
    ):
        replaces.append("spec")
    known = not boundary.unknown(news.get("annotations"))
    if known and inputs.settings_of(news) != inputs.settings_of(olds):
        replaces.append("annotations")
    suspends = not replaces and news["spec"] != olds["spec"]
    drifted = bool(olds.get("drift"))
    changes = (
        bool(replaces) or suspends or drifted or any(_differs(key, olds, news) for key in IN_PLACE)
    )
    same_name = all(news.get(key) == olds.get(key) for key in ("name", "namespace"))
    return DiffResult(
        changes=changes,
        replaces=replaces,
        # Two objects of one name cannot live side by side.
        delete_before_replace=bool(replaces) and same_name,
    )


def shown(olds: JSON, news: JSON, replaces: Collection[str]) -> dict[str, str]:
    """The inputs of a TrainJob that a preview shows as changed, each with the kind of change.

    Without them the engine compares outputs with inputs, and would show what only inputs have as new.

    Args:
        olds: old outputs; drift in them is shown too.
        news: new inputs.
        replaces: those for which the run is replaced.
    """
    before = olds.keys() | (olds.get(digests.DIGESTS) or {}).keys()
    hidden = {*inputs.OBSERVED, *(() if "rendered" in news else digests.LARGE)}
    if not (olds.get("outputs") or news.get("outputs")):
        # A state has an empty one, for programs that ask.
        hidden.add("outputs")
    found = {}
    for key in sorted((before | news.keys()) - hidden):
        large = key in digests.LARGE
        if digests.differs(key, olds, news) if large else _differs(key, olds, news):
            kind = "UPDATE" if key in news else "DELETE"
            kind = kind if key in before else "ADD"
            found[key] = f"{kind}_REPLACE" if key in replaces else kind
    return found


def of_result(olds: JSON, news: JSON) -> DiffResult:
    """Difference of two gates: another run, or another event to wait for, is another wait."""
    replaces = [key for key in ("uid", "until") if _differs(key, olds, news)]
    return DiffResult(changes=bool(replaces), replaces=replaces, delete_before_replace=False)


def _differs(key: str, olds: JSON, news: JSON) -> bool:
    return bool(olds.get(key) != news.get(key))
