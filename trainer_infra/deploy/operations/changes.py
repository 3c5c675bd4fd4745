"""What a difference between two sets of inputs means: nothing, an update in place, a new run.

Pure. Only what the user said counts, never the rendering (design rule 2).
"""

from collections.abc import Collection
from typing import Final

from trainer_infra.deploy.operations import declared_run, digests
from trainer_infra.deploy.operations.answers import Difference
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import identity

OBSERVED: Final = frozenset({"uid", "host", "lastSeen", "digests"})
"""Outputs that are no inputs. Drift is not among them: a preview shows it as what the program does not
have, and the next `up` repairs."""
IN_PLACE: Final = ("labels", "annotations", "secretData", "adopt", "deleteTimeout")


def train_job_difference(olds: JSONObject, news: JSONObject) -> Difference:
    """Difference of two TrainJobs: old outputs, new inputs."""
    replaces = [key for key in ("name", *declared_run.IDENTITY) if _differs(key, olds, news)]
    if digests.input_differs("code", olds, news):
        replaces.append("code")
    if digests.is_known("runtime", olds) and digests.input_differs("runtime", olds, news):
        replaces.append("runtime")
    if is_unknown(news.get("spec")) or (
        identity.identity_of_spec(news["spec"]) != identity.identity_of_spec(olds["spec"])
    ):
        replaces.append("spec")
    known, old, new = (
        not is_unknown(news.get("annotations")),
        *map(TrainJobProperties, (olds, news)),
    )
    if known and declared_run.settings_of(new) != declared_run.settings_of(old):
        replaces.append("annotations")
    suspends = not replaces and news["spec"] != olds["spec"]
    changes = (
        bool(replaces)
        or suspends
        or bool(old.drift)
        or any(_differs(key, olds, news) for key in IN_PLACE)
    )
    same_name = all(news.get(key) == olds.get(key) for key in ("name", "namespace"))
    # Two objects of one name cannot live side by side.
    first = bool(replaces) and same_name
    paths = _shown(olds, news, replaces) if changes else None
    return Difference(changes, tuple(replaces), first, paths or None)


def _shown(olds: JSONObject, news: JSONObject, replaces: Collection[str]) -> dict[str, str]:
    """The inputs of a TrainJob that a preview shows as changed, each with the kind of change.

    Without them the engine compares outputs with inputs, and would show what only inputs have as new.

    Args:
        olds: old outputs; drift in them is shown too.
        news: new inputs.
        replaces: those for which the run is replaced.
    """
    before = olds.keys() | (olds.get(digests.DIGESTS) or {}).keys()
    hidden = {*OBSERVED, *(() if "rendered" in news else digests.LARGE)}
    if not (olds.get("outputs") or news.get("outputs")):
        # A state has an empty one, for programs that ask.
        hidden.add("outputs")
    found = {}
    for key in sorted((before | news.keys()) - hidden):
        large = key in digests.LARGE
        if digests.input_differs(key, olds, news) if large else _differs(key, olds, news):
            kind = "UPDATE" if key in news else "DELETE"
            kind = kind if key in before else "ADD"
            found[key] = f"{kind}_REPLACE" if key in replaces else kind
    return found


def gate_difference(olds: JSONObject, news: JSONObject, waited_for: str = "uid") -> Difference:
    """Difference of two gates: another run, or another event to wait for, is another wait.

    No input is shown as changed, for the run's own difference says it: `pulumi up` would write it
    into the column in which the gate says how far the run is, before that.

    Args:
        olds: old outputs.
        news: new inputs.
        waited_for: the input that says which run or runs.
    """
    replaces = tuple(key for key in (waited_for, "until") if _differs(key, olds, news))
    return Difference(bool(replaces), replaces, paths={})


def _differs(key: str, olds: JSONObject, news: JSONObject) -> bool:
    return bool(olds.get(key) != news.get(key))
