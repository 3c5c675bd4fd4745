"""Arguments of a component that say how its pods run: image, nodes, amounts.

Limits are those of the API server's validation of pods (Kubernetes 1.32), which the plugin's dry run
in a preview asks only where there is a cluster.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.platform.argument_problems import LABEL_KEY, ArgumentProblems, is_plain

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
"""What a taint does with pods that do not tolerate it."""
_TOLERATION: Final = ("key", "operator", "value", "effect", "tolerationSeconds")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_AMOUNTS: Final = ("requests", "limits")
_MOST: Final = 1000
_IMAGE: Final = re.compile(r"\S+")


def judge_pod_arguments(problems: ArgumentProblems, args: Mapping[str, Any]) -> None:
    """Those of these arguments that are given.

    Args:
        problems: where to say what is wrong.
        args: of the component, of the types that their annotations say.
    """
    if "image" in args:
        judge_image(problems, ("image",), args["image"])
    if "image_pull_policy" in args:
        problems.judge_choice(("image_pull_policy",), args["image_pull_policy"], _PULL_POLICIES)
    if "replicas" in args:
        problems.judge_number(("replicas",), args["replicas"], least=1)
    _judge_resources(problems, args.get("resources", {}))
    problems.judge_labels(("node_selector",), args.get("node_selector", {}))
    judge_tolerations(problems, args.get("tolerations", ()), _MOST)


def judge_image(problems: ArgumentProblems, path: Path, image: object) -> None:
    """The name of an image."""
    if isinstance(image, str) and not _IMAGE.fullmatch(image):
        problems.add(path, "must be the name of an image", image)


def judge_tolerations(problems: ArgumentProblems, tolerations: object, most: int) -> None:
    """Tolerations in wire form.

    Args:
        problems: where to say what is wrong.
        tolerations: the argument of that name.
        most: how many there may be.
    """
    at: Path = ("tolerations",)
    for index, each in enumerate(problems.plain_list(at, tolerations, most)):
        found = problems.plain_fields((*at, index), each, _TOLERATION)
        _judge_toleration(problems, (*at, index), found)


def _judge_toleration(problems: ArgumentProblems, at: Path, toleration: Mapping[str, Any]) -> None:
    """An operator that is not given is `Equal`."""
    operator, effect = toleration.get("operator", "Equal"), toleration.get("effect")
    problems.judge_choice((*at, "operator"), operator, ("Equal", "Exists"))
    if "effect" in toleration:
        problems.judge_choice((*at, "effect"), effect, EFFECTS)
    if "key" in toleration:
        problems.judge_text((*at, "key"), toleration["key"], LABEL_KEY)
    elif is_plain(operator) and operator != "Exists":
        problems.add((*at, "key"), "is missing", fix="an operator of Exists tolerates every key")
    if operator == "Exists" and "value" in toleration:
        problems.add((*at, "value"), "must not be there where the operator is Exists")
    if "tolerationSeconds" in toleration:
        problems.judge_number((*at, "tolerationSeconds"), toleration["tolerationSeconds"])
        if is_plain(effect) and effect != "NoExecute":
            problems.add((*at, "effect"), "must be NoExecute beside tolerationSeconds")


def _judge_resources(problems: ArgumentProblems, resources: object) -> None:
    at: Path = ("resources",)
    found = problems.plain_fields(at, resources, (*_AMOUNTS, "claims"))
    amounts: dict[str, dict[str, Any]] = {}
    for each in _AMOUNTS:
        given = problems.plain_mapping((*at, each), found.get(each, {}), _MOST)
        amounts[each] = {
            name: problems.judge_quantity((*at, each, name), amount)
            for name, amount in given.items()
        }
    for name, request in amounts["requests"].items():
        limit = amounts["limits"].get(name)
        if request is not None and limit is not None and request > limit:
            what = "must not be more than the limit of it"
            problems.add((*at, "requests", name), what, found["requests"][name])
