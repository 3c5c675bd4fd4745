"""Whatever is written, known or not: every rule judges it, says the same again, and changes nothing."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.render.any_object import runtimes, train_jobs
from trainer_infra.api.shape import schema
from trainer_infra.rules import RULES, fixture, tree, world
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.value import UNKNOWN, Mark

JSON = Mapping[str, Any]
Path = tuple[str | int, ...]

POOLS: Final = (
    Pool(name="cpu", nodes=1, capacity={"cpu": 2}, labels={"a": "b"}),
    Pool(
        name="gpu",
        nodes=2,
        capacity={"cpu": 8, "nvidia.com/gpu": 2},
        accelerator="nvidia-l4",
        taints=(Taint(key="nvidia.com/gpu", effect="NoSchedule"),),
        topology={"a": 1},
        preemptible=True,
    ),
)
SET: Final[Mapping[str, JSON]] = {
    "deadline": {"atMostSeconds": 1},
    "gpu-hours": {"budget": 1},
    "gpu-quota": {"namespaces": {"ns": {"nvidia.com/gpu": 1}}},
    "image-registry": {"allow": ["example.com"]},
    "nodes-limit": {"nodes": 1},
    "price": {"budget": 1, "prices": {"nvidia-l4": 1, "cpu": 0.5}},
    "storage-scheme": {"allow": ["s3"], "outputs": ["s3"]},
    "ttl": {"atMostSeconds": 1},
}
"""Parameters of rules that say little without them."""
CHOSEN: Final = tuple(
    ConfiguredRule(rule, rule.severity, rule.parameters(**SET.get(rule.id, {}))) for rule in RULES
)
SHOWN: Final = tuple(case.good for rule in RULES for case in fixture.shipped_cases(rule.id))
KINDS: Final = sorted({kind for rule in RULES for kind in rule.kinds} | {"Role", "RoleBinding"})
NAMES: Final = ("a", "node", "launcher", "torch-distributed")


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        yield from (key for each in value.values() for key in keys(each))
    elif isinstance(value, list | tuple):
        yield from (key for each in value for key in keys(each))


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from paths(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from paths(each, (*path, index))


def places(value: Any) -> list[Path]:
    """Where an object may be changed; its metadata where nothing but its kind is left."""
    return [path for path in paths(value) if path not in {(), ("kind",)}] or [("metadata",)]


NOT_SHRUNK: Final = (Phase.explicit, Phase.reuse, Phase.generate)
"""Shrinking what is made of the schemas takes minutes."""
KEYS: Final = sorted({key for shown in SHOWN for key in keys(shown)})
SCALARS: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.sampled_from([1e300, 2.0, 0.5, "", "8", "a", "node", "s3://a:b@c", "1Gi", "-1", *KEYS[:9]]),
    st.just(UNKNOWN),
)
ANYTHING: Final[SearchStrategy[Any]] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


def findings(objects: Sequence[JSON]) -> list[Finding]:
    """What all rules find in all objects."""
    subjects = tree.subjects_of(objects)
    around = world.world_of(subjects, POOLS, is_whole=True)
    return [
        finding
        for subject in subjects
        for each in judge(subject, around, CHOSEN)
        for finding in each.findings
    ]


def is_judged(objects: Sequence[JSON]) -> None:
    """Every rule judges them, whatever order they are asked in, and shows nothing unknown."""
    before = copy.deepcopy(objects)
    found = findings(objects)
    event("something found" if found else "nothing found")
    assert findings(objects) == found
    assert objects == before
    assert [each for each in found if isinstance(each.got, Mark) or "Mark." in repr(each)] == []


@st.composite
def with_unknown(draw: DrawFn, objects: Sequence[JSON]) -> Sequence[JSON]:
    """The objects with up to three values of each that are not known."""
    made = []
    for each in objects:
        value: Any = each
        for _ in range(draw(st.integers(0, 3))):
            value = fixture.with_value_at(value, draw(st.sampled_from(places(value))), UNKNOWN)
        made.append(value)
    return made


@st.composite
def any_kind(draw: DrawFn) -> JSON:
    """Any JSON that says that it is of a kind that some rule knows."""
    metadata = {"name": draw(st.sampled_from(NAMES)), "namespace": "ns"}
    return {
        "apiVersion": draw(st.sampled_from(["kueue.x-k8s.io/v1beta2", "v1", UNKNOWN])),
        **draw(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=3)),
        "kind": draw(st.sampled_from(KINDS)),
        "metadata": draw(st.just(metadata) | ANYTHING),
        "spec": draw(ANYTHING),
    }


@st.composite
def changed(draw: DrawFn) -> Sequence[JSON]:
    """An example of some rule in which anything stands at some places."""
    first, *others = draw(st.sampled_from(SHOWN))
    value: Any = first
    for _ in range(draw(st.integers(1, 3))):
        value = fixture.with_value_at(value, draw(st.sampled_from(places(value))), draw(ANYTHING))
    return draw(with_unknown((value, *others)))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], phases=NOT_SHRUNK)
@given(job=train_jobs(), runtime=runtimes(), data=st.data())
def test_what_the_schemas_allow(
    job: dict[str, Any], runtime: dict[str, Any], data: st.DataObject
) -> None:
    template = runtime["spec"].get("template") or {}
    jobset = {**template, "kind": "JobSet", "metadata": {"name": "js", "namespace": "ns"}}
    objects = (job, runtime, jobset)
    if not schema.schema_findings(job, "TrainJob") and not schema.schema_findings(
        runtime, runtime["kind"]
    ):
        is_judged(objects)
    is_judged(data.draw(with_unknown(objects)))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(any_kind(), min_size=1, max_size=4))
def test_any_json_of_any_kind(objects: list[JSON]) -> None:
    is_judged(objects)


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(changed())
def test_anything_anywhere_in_an_example(objects: Sequence[JSON]) -> None:
    is_judged(objects)
