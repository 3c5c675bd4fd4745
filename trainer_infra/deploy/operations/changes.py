"""What a difference between two sets of inputs means: nothing, an update in place, a new run.

Pure. Only what the user said counts, never the rendering (design rule 2).

The engine writes the whole state before and after every step, and logs each value on each of its
ways between processes: of a hundred TrainJobs that is half of what an `up` computes. So a state has
code, runtime and rendering once, as inputs, and its outputs say by digests whether they are still
the same.
"""

from collections.abc import Collection
from typing import Any, Final

from trainer_infra.deploy.operations import declared_run
from trainer_infra.deploy.operations.answers import Difference
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.values import differing, is_unknown
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import identity
from trainer_infra.trainers.code import content_hash

LARGE: Final = ("code", "runtime", "rendered")
"""Inputs that the outputs do not repeat."""
DIGESTS: Final = "digests"
"""The output that has their digests, by name of the input."""
OBSERVED: Final = frozenset({"uid", "host", "lastSeen", DIGESTS})
"""Outputs that are no inputs. Drift is not among them: a preview shows it as what the program does not
have, and the next `up` repairs."""
IN_PLACE: Final = ("labels", "annotations", "secretData", "adopt", "deleteTimeout")


def train_job_difference(olds: JSONObject, news: JSONObject) -> Difference:
    """Difference of two TrainJobs: old outputs, new inputs."""
    replaces = [*differing(("name", *declared_run.IDENTITY), olds, news)]
    if _differs("code", olds, news):
        replaces.append("code")
    # A state of a batch by an older release says nothing of a runtime.
    says_runtime = "runtime" in olds or "runtime" in (olds.get(DIGESTS) or {})
    if says_runtime and _differs("runtime", olds, news):
        replaces.append("runtime")
    if is_unknown(news.get("spec")) or (
        identity.identity_of_spec(news["spec"]) != identity.identity_of_spec(olds["spec"])
    ):
        replaces.append("spec")
    old, new = map(TrainJobProperties, (olds, news))
    if not is_unknown(news.get("annotations")) and (
        declared_run.settings_of(new) != declared_run.settings_of(old)
    ):
        replaces.append("annotations")
    suspends = not replaces and news["spec"] != olds["spec"]
    changes = bool(replaces or suspends or old.drift or differing(IN_PLACE, olds, news))
    # Two objects of one name cannot live side by side.
    first = bool(replaces) and not differing(("name", "namespace"), olds, news)
    paths = _shown(olds, news, replaces) if changes else None
    return Difference(changes, tuple(replaces), first, paths or None)


def _shown(olds: JSONObject, news: JSONObject, replaces: Collection[str]) -> dict[str, str]:
    """The inputs of a TrainJob that a preview shows as changed, drift too, each with the kind of change.

    Without them the engine compares outputs with inputs, and would show what only inputs have as new.
    """
    before = olds.keys() | (olds.get(DIGESTS) or {}).keys()
    hidden = {*OBSERVED, *(() if "rendered" in news else LARGE)}
    if not (olds.get("outputs") or news.get("outputs")):
        # A state has an empty one, for programs that ask.
        hidden.add("outputs")
    found = {}
    for key in sorted((before | news.keys()) - hidden):
        if _differs(key, olds, news):
            kind = "UPDATE" if key in news else "DELETE"
            kind = kind if key in before else "ADD"
            found[key] = f"{kind}_REPLACE" if key in replaces else kind
    return found


def with_digests(outputs: JSONObject) -> dict[str, Any]:
    """The outputs as a state keeps them."""
    rest = {key: each for key, each in outputs.items() if key not in LARGE}
    digests = {key: content_hash(outputs[key]) for key in LARGE if key in outputs}
    return {**rest, DIGESTS: digests}


def _differs(key: str, olds: JSONObject, news: JSONObject) -> bool:
    """Whether an input is another one than in `olds`: a state of this or an older release, or inputs."""
    known = (olds.get(DIGESTS) or {}).get(key)
    if known is None or key in olds:
        return bool(olds.get(key) != news.get(key))
    now = news.get(key)
    return now is None or is_unknown(now) or content_hash(now) != known
