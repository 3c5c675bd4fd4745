"""What is wrong with an object is the same for all who judge it: manifests, `check`, and components.

Those judge the object that they build. A TrainJob's pods are judged where they are rendered, so of those
`check` may say more; of a policy that names other jobs too.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import Any, Final

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import trainer_infra
from tests.render import any_object
from tests.render.any_object import runtimes, train_jobs
from trainer_infra import names
from trainer_infra.api import manifests
from trainer_infra.api.finding import Path
from trainer_infra.platform import argument_fields
from trainer_infra.rules import RULES, admission, fixture, tree
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.world import World

JSON = Mapping[str, Any]
Told = set[tuple[Path, str]]

TYPES: Final = {"schema", "quoted-strings"}
SHAPES: Final = TYPES | {each.id for each in admission.RULES} | {"jobset-forms"}
"""Rules that say nothing but what schemas and forms say."""
REFUSALS: Final = {each.rule.id for each in argument_fields.JUDGES}
CHECKED: Final = tuple(
    ConfiguredRule.default(each) for each in RULES if each.id in SHAPES | REFUSALS
)
PLANTED: Final[st.SearchStrategy[Any]] = st.sampled_from((
    None, True, -1, 0, 3, 70_000, 2**40, 0.5, "", "a", "A b", "a" * 300, "-1", "1Gi",
    [], {}, [1], [{}], {"a b": "c"},
))  # fmt: skip
"""What stands where something else belongs."""


def expanded(schema: Any, shared: JSON) -> Any:
    """A schema with what it refers to in its place."""
    if isinstance(schema, list):
        return [expanded(each, shared) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return expanded(shared[schema["$ref"]], shared)
    return {key: expanded(each, shared) for key, each in schema.items()}


_DATA = json.loads(
    (File(trainer_infra.__file__).parent / "api" / "schemas" / "kueue.json").read_text()
)
QUEUES: Final = {place: expanded(each, _DATA["shared"]) for place, each in _DATA["kinds"].items()}
"""Schemas of Kueue's kinds, by version and kind."""


def paths(value: Any, path: Path = ()) -> Sequence[Path]:
    """Every place below the object itself, but its kind and version."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    below = [each for key, one in inner for each in paths(one, (*path, key))]
    return [path, *below] if path not in {(), ("kind",), ("apiVersion",)} else below


@st.composite
def workloads(draw: DrawFn) -> Sequence[JSON]:
    """A runtime, and its JobSet, Jobs and pods as objects of their own."""
    runtime = draw(runtimes())
    template = runtime["spec"].get("template") or {}
    metadata = {"name": "js", "namespace": "ns"}
    made = [
        runtime,
        {
            "apiVersion": names.JOBSET_API_VERSION,
            "kind": "JobSet",
            "metadata": metadata,
            "spec": template.get("spec") or {},
        },
    ]
    for each in (template.get("spec") or {}).get("replicatedJobs") or ():
        job = each.get("template", {}).get("spec") or {}
        made += [
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job},
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": (job.get("template") or {}).get("spec") or {},
            },
        ]
    return made


@st.composite
def queues(draw: DrawFn) -> JSON:
    """An object of Kueue."""
    place = draw(st.sampled_from(sorted(QUEUES)))
    version, _, kind = place.partition("/")
    spec = QUEUES[place]["properties"].get("spec")
    made = any_object.value_of(draw, spec) if spec else None
    head = {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": {"name": "q"}}
    return head if made is None else {**head, "spec": made}


@st.composite
def with_faults(draw: DrawFn, value: Any) -> JSON:
    """The object with something else at up to three places."""
    for _ in range(draw(st.integers(0, 3))):
        if places := paths(value):
            value = fixture.with_value_at(value, draw(st.sampled_from(places)), draw(PLANTED))
    return dict(value)


def checked(value: JSON) -> Told:
    """What `check` says of it."""
    (subject,) = tree.subjects_of([value])
    return {
        (one.path, each.chosen.rule.id)
        for each in judge(subject, World(), CHECKED)
        for one in each.findings
    }


def of(rules: set[str], told: Told) -> Told:
    """What some rules say."""
    return {each for each in told if each[1] in rules}


@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(data=st.data())
def test_all_who_judge_an_object_find_the_same(data: st.DataObject) -> None:
    drawn = data.draw(st.sampled_from((train_jobs, queues, workloads)))
    made: Any = data.draw(drawn())
    for each in made if isinstance(made, list) else [made]:
        value = data.draw(with_faults(each))
        told = checked(value)
        event(f"{value['kind']}: {'wrong' if told else 'right'}")
        components = {(one.path, one.rule) for one in argument_fields.refusals(value)}
        assert components == of(REFUSALS, told)
        if value["kind"] in manifests.KINDS:
            found = {(one.path, one.rule) for one in manifests.object_findings(value)}
            rules = TYPES if value["kind"] == names.TRAIN_JOB else SHAPES
            assert of(rules, found) == of(rules, told)
            assert found <= told | {one for one in found if one[1] == "jobset-policies"}
