"""The published schemas' CEL rules, each as a predicate under its exact text.

The message is the schema's own, but for names, of which it says how to make one. Rules that compare with the old
object (`self == oldSelf`) are for an update, see transitions.py; tests hold that no other rule is missing here.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.api.shape.reading import UnseenValue

_RFC1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+", re.ASCII)
_MANAGERS: Final = ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue")
_POLICIES: Final = ("torch", "mpi", "jax", "xgboost", "flux")
_NAME: Final = ("metadata", "name")
_LONGEST: Final = 63
"""Characters of a TrainJob's name."""
_LABEL: Final = "must be lower-case letters, digits and -, with a letter first and no - at its end"


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that does not hold; see `FieldFinding`."""

    path: Path = ()
    """Where below the ruled value the fault is; empty for the value itself."""
    got: object = None
    what: str = ""
    """What is wrong; empty when the rule's own message says it."""
    fix: str = ""


Broken = Iterator[BrokenRule | UnseenValue]
"""What breaks a rule, and what is not known of a part that is judged for itself."""
SchemaRule = Callable[[Any], Broken]
"""What breaks a rule in a value; reads what the schema wants there, and may raise where it is not."""


@dataclass(frozen=True, slots=True)
class _Rule:
    holds: Callable[[Any], bool]
    path: tuple[str, ...] = ()
    what: str = ""
    """In other words than the schema's; empty for those."""
    fix: Callable[[Any], str] = lambda _got: ""
    """What to do about what is at the path."""

    def __call__(self, value: Any) -> Iterator[BrokenRule]:
        if not self.holds(value):
            for part in self.path:
                value = value.get(part)
            yield BrokenRule(self.path, value, self.what, self.fix(value))


def broken_rules(rule: SchemaRule, value: Any) -> Broken:
    """What breaks a rule in a value that has the type which the schema wants; nothing when it holds.

    Raises:
        UnseenValue: The rule reads a value that is not known.
    """
    try:
        yield from rule(value)
    except KeyError as missing:
        # The API server cannot evaluate the rule either, and refuses.
        what = f"needs {missing.args[0]}, which a rule of the schema reads"
        yield BrokenRule((), value, what)
    except (AttributeError, IndexError, TypeError):
        # A part of another type than the schema wants: that is reported already.
        return


def repeats(items: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Positions of JSON values that stand further above too, each with the first one; None is none of them."""
    seen: dict[str, int] = {}
    for position, each in enumerate(items):
        first = seen.setdefault(json.dumps(each, sort_keys=True, default=repr), position)
        if first != position and each is not None:
            yield position, first


def _name_of(value: Mapping[str, Any]) -> str:
    # Without a name the API server makes one from generateName.
    name: str | None = value.get("metadata", {}).get("name")
    return name or ""


def nearest_label(name: str) -> str:
    """The nearest name that is a label of RFC 1035: `my-job` for `My_Job`; empty if there is none."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).lstrip("-0123456789").rstrip("-")


def _use_label(name: str) -> str:
    legal = nearest_label(name)
    return f"for example {legal!r}" if legal else "for example 'train'"


def _one_policy(value: Mapping[str, Any]) -> bool:
    return sum(value.get(policy) is not None for policy in _POLICIES) <= 1


def _one_start_order(value: Mapping[str, Any]) -> bool:
    order = (value.get("startupPolicy") or {}).get("startupPolicyOrder")
    return order != "InOrder" or all(
        job.get("dependsOn") is None for job in value["replicatedJobs"]
    )


RULES: Final[Mapping[str, SchemaRule]] = {
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')": _Rule(
        lambda value: not _name_of(value) or _RFC1035.fullmatch(_name_of(value)) is not None,
        _NAME,
        _LABEL,
        _use_label,
    ),
    "size(self.metadata.name) <= 63": _Rule(
        lambda value: len(_name_of(value)) <= _LONGEST,
        _NAME,
        f"must be no more than {_LONGEST} characters",
        lambda name: f"choose a shorter one, this has {len(name)}",
    ),
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')": _Rule(
        lambda uri: uri == "" or _URI.fullmatch(uri) is not None
    ),
    f"self in {list(_MANAGERS)}": _Rule(lambda manager: manager in _MANAGERS),
    "has(self.lastUpdatedTime)": _Rule(lambda status: status.get("lastUpdatedTime") is not None),
    "self >= 1": _Rule(lambda number: number >= 1),
    "!self.exists(c, c == 'node')": _Rule(lambda names: "node" not in names),
    "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)]"
    ".filter(x, x).size() <= 1": _Rule(_one_policy),
    # Of older releases of Trainer.
    "!(has(self.torch) && has(self.mpi))": _Rule(_one_policy),
    "!(has(self.numNodes) && (has(self.torch) && has(self.torch.elasticPolicy)))": _Rule(
        lambda policy: (
            policy.get("numNodes") is None
            or (policy.get("torch") or {}).get("elasticPolicy") is None
        )
    ),
    "self > 0 || self in ['auto', 'cpu', 'gpu']": _Rule(
        lambda count: count in ("auto", "cpu", "gpu") or (isinstance(count, int) and count > 0)
    ),
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)": _Rule(
        lambda value: not any(each["metadata"].get("namespace") for each in value["templates"])
    ),
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
    "self.replicatedJobs.exists(x, has(x.dependsOn)))": _Rule(_one_start_order),
    "has(self.name) || has(self.generateName)": _Rule(
        lambda metadata: bool(metadata.get("name") or metadata.get("generateName")), ("name",)
    ),
}
"""Every rule of the published schemas that judges one object, and those of object_meta.py."""
