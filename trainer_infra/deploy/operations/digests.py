"""Digests of a TrainJob's large inputs, in its outputs in place of the inputs themselves. Pure.

The engine writes the whole state before and after every step, and logs each value on each of its
ways between processes: of a hundred TrainJobs that is half of what an `up` computes. So a state has
code, runtime and rendering once, as inputs, and its outputs say by digests whether they are still
the same.
"""

from typing import Any, Final

from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.json_values import JSONObject
from trainer_infra.trainers.code import content_hash

LARGE: Final = ("code", "runtime", "rendered")
"""Inputs that the outputs do not repeat."""
DIGESTS: Final = "digests"
"""The output that has their digests, by name of the input."""


def with_digests(outputs: JSONObject) -> dict[str, Any]:
    """The outputs as a state keeps them."""
    rest = {key: each for key, each in outputs.items() if key not in LARGE}
    digests = {key: content_hash(outputs[key]) for key in LARGE if key in outputs}
    return {**rest, DIGESTS: digests}


def is_known(key: str, olds: JSONObject) -> bool:
    """Whether a state says anything of a large input: one of a batch by an older release does not."""
    return key in olds or key in (olds.get(DIGESTS) or {})


def input_differs(key: str, olds: JSONObject, news: JSONObject) -> bool:
    """Whether a large input is another one than in `olds`: a state of this or an older release, or inputs."""
    known = (olds.get(DIGESTS) or {}).get(key)
    if known is None or key in olds:
        return bool(olds.get(key) != news.get(key))
    now = news.get(key)
    return now is None or is_unknown(now) or content_hash(now) != known
