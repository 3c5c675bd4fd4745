"""What is decided before anything is created, without an engine."""

import re
from typing import Any

import pytest

from trainer_infra import catalog, names
from trainer_infra.api.input import UNKNOWN
from trainer_infra.deploy.operations import declared_run, options, rendering, targets
from trainer_infra.deploy.operations.changes import train_job_difference
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.values import plain_json
from trainer_infra.errors import InvalidInput
from trainer_infra.trainers.code import content_hash


def given(**changed: Any) -> dict[str, Any]:
    """Inputs of a TrainJob as the engine hands them over."""
    spec = {"runtimeRef": {"name": "jax-distributed"}, "trainer": {"command": ["python", "x.py"]}}
    return {
        "resource": "job",
        "namespace": "default",
        "target": "local",
        "attempt": 1,
        "owner": {"project": "project", "stack": "test", "urn": "urn:job"},
        "spec": spec,
        **changed,
    }


def checked(new: dict[str, Any], olds: dict[str, Any]) -> dict[str, Any]:
    """The inputs as check gives them back."""
    target = targets.open_target(new["target"])
    preview = rendering.preview_run(TrainJobProperties(new), TrainJobProperties(olds), target)
    return dict(preview.inputs.json)


def properties(**changed: Any) -> TrainJobProperties:
    return TrainJobProperties(given(**changed))


BORN = checked(given(), {})


def test_the_rendering_is_by_role_in_apply_order() -> None:
    assert list(BORN["rendered"]) == ["ConfigMap-runtime-snapshot", "JobSet"]
    assert BORN["rendered"]["JobSet"]["metadata"] == {
        "name": BORN["name"],
        "namespace": "default",
    }


def test_the_same_content_is_the_same_name_and_other_content_another() -> None:
    assert checked(given(), {}) == BORN
    for other in (given(attempt=2), given(spec={**given()["spec"], "activeDeadlineSeconds": 9})):
        assert checked(other, {})["name"] != BORN["name"]


@pytest.mark.parametrize(
    ("resource", "label"),
    [
        ("sweep-lr-0.1", "sweep-lr-0-1"),
        ("lr_0.1", "lr-0-1"),
        ("LR=0.1", "lr-0-1"),
        ("MyJob", "myjob"),
        ("my_job_", "my-job"),
        ("a//b", "a-b"),
        ("3d-unet", "run-3d-unet"),
        ("0.1", "run-0-1"),
        ("größe", "gr-e"),
        ("日本", "run"),
        ("x" * 80, "x" * 36),
        ("lr=0.1,batch=64,optimizer=adam_w,warmup=0.05", "lr-0-1-batch-64-optimizer-adam-w-war"),
        ("twenty-nine-characters-and-so.-.-.-on", "twenty-nine-characters-and-so-on"),
        ("thirty-five-characters-and-then-a-b_tail", "thirty-five-characters-and-then-a-b"),
    ],
)
def test_a_resource_whose_name_no_run_may_have_gives_one_that_reads_like_it(
    resource: str, label: str
) -> None:
    name = checked(given(resource=resource), {})["name"]
    assert re.fullmatch(re.escape(label) + "-[0-9a-f]{8}", name)


def test_resources_that_read_alike_are_runs_of_their_own() -> None:
    alike = ("lr-0-1", "lr-0.1", "lr_0.1", "LR=0.1", "lr-0.1-")
    names = {checked(given(resource=each), {})["name"] for each in alike}
    assert len(names) == len(alike)


def test_a_resource_that_a_run_may_be_named_after_is_named_as_ever() -> None:
    """Its run is found again by the next release."""
    found = {each: checked(given(resource=each), {})["name"] for each in ("job", "a-", "x" * 39)}
    content = declared_run.content_of(properties(), declared_run.runtime_of(properties()))
    digest = content_hash(["project", "test", content])
    assert found == {each: f"{each}-{digest}" for each in found}


def test_suspending_keeps_name_and_runtime_and_changes_the_rendering() -> None:
    held = checked(given(spec={**given()["spec"], "suspend": True}), BORN)
    assert (held["name"], held["runtime"]) == (BORN["name"], BORN["runtime"])
    assert held["rendered"]["JobSet"]["spec"]["suspend"] is True
    result = train_job_difference(BORN, held)
    assert (result.changes, result.replaces) == (True, ())


def test_a_shipped_runtime_that_is_passed_whole_is_the_catalogs() -> None:
    whole = catalog.get("jax-distributed").to_wire()
    old = TrainJobProperties(checked(given(runtime=edited("older")), {}))
    assert declared_run.is_same_run(properties(runtime=whole), old)
    assert not declared_run.is_same_run(properties(runtime=edited("newer")), old)
    assert declared_run.is_of_another_runtime(properties(runtime=edited("newer")), old)
    assert declared_run.is_same_run(properties(runtime=edited("newer"), runtimeResource=True), old)


def test_an_unchanged_job_keeps_its_runtime_and_rendering_whatever_the_catalog_says() -> None:
    old = checked(given(runtime=edited("older")), {})
    assert "older" in str(old["rendered"])
    again = checked(given(), old)
    assert again == old
    assert train_job_difference(old, again).changes is False
    sentence = declared_run.older_runtime(properties(), TrainJobProperties(old))
    assert sentence.startswith(f"{old['name']} keeps the runtime")


def edited(image: str) -> dict[str, Any]:
    runtime: dict[str, Any] = plain_json(BORN["runtime"])
    pods = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pods["spec"]["containers"][0]["image"] = image
    return runtime


@pytest.mark.parametrize(
    ("changed", "replaces"),
    [
        ({"attempt": 2}, ["name", "attempt"]),
        ({"namespace": "other"}, ["namespace"]),
        ({"spec": {**given()["spec"], "activeDeadlineSeconds": 9}}, ["name", "spec"]),
        (
            {
                "annotations": {
                    "trainer-infra.dev/scheduler": "kueue",
                    "trainer-infra.dev/queue": "team",
                }
            },
            ["name", "annotations"],
        ),
    ],
)
def test_what_makes_a_run_another_one_replaces_it(
    changed: dict[str, Any], replaces: list[str]
) -> None:
    result = train_job_difference(BORN, checked(given(**changed), BORN))
    assert (result.changes, list(result.replaces)) == (True, replaces)


def test_an_annotation_that_renders_nothing_is_an_update_in_place() -> None:
    new = checked(given(annotations={"team": "vision"}), BORN)
    result = train_job_difference(BORN, new)
    assert (result.changes, result.replaces) == (True, ())
    assert new["rendered"] == BORN["rendered"]


def test_a_changed_secret_value_is_an_update_in_place() -> None:
    reference = {
        "name": "T",
        "valueFrom": {"secretKeyRef": {"name": names.OWN_SECRET, "key": "env.T"}},
    }
    spec = {**given()["spec"], "trainer": {"command": ["x"], "env": [reference]}}
    old = checked(given(spec=spec, secretData={"env.T": "first-value"}), {})
    new = checked(given(spec=spec, secretData={"env.T": "second-value"}), old)
    assert new["rendered"] == old["rendered"]
    result = train_job_difference(old, new)
    assert (result.changes, result.replaces) == (True, ())


def test_a_secret_in_plain_text_is_refused_where_it_stands() -> None:
    spec = {**given()["spec"], "trainer": {"command": ["x"], "args": ["--token=secret-value"]}}
    with pytest.raises(InvalidInput) as caught:
        checked(given(spec=spec, secretData={"secret_args.json": '{"t": "secret-value"}'}), {})
    assert [problem.path for problem in caught.value.problems] == ["spec.trainer.args[0]"]


def test_a_missing_choice_names_the_choices() -> None:
    missing = [str(problem) for problem in targets.choice_problems(given(target=None))]
    assert missing == [
        (
            "stack configuration: trainer:target: is not set; run `pulumi config set "
            "trainer:target local` or `pulumi config set trainer:target kubernetes`"
        )
    ]
    (unknown,) = targets.choice_problems(given(target="moon"))
    assert "must be local or kubernetes, got 'moon'" in str(unknown)


def test_an_attempt_below_one_is_refused() -> None:
    (problem,) = options.option_problems(given(attempt=0))
    assert str(problem) == "attempt: must be a whole number from 1, got 0"


def test_numbers_are_whole_again_and_nothing_is_lost() -> None:
    assert plain_json({"a": 2.0, "b": [1.5, 3.0, None], "c": None, "d": {"e": "1.0"}}) == {
        "a": 2,
        "b": [1.5, 3, None],
        "d": {"e": "1.0"},
    }


def test_options_that_are_not_known_yet_are_no_problem_and_bad_ones_are() -> None:
    unknown = dict.fromkeys(("attempt", "adopt", "deleteTimeout"), UNKNOWN)
    assert list(options.option_problems(given(**unknown))) == []
    wrong = {"attempt": 0, "adopt": 1, "deleteTimeout": float("nan")}
    paths = [each.path for each in options.option_problems(given(**wrong))]
    assert paths == ["attempt", "adopt", "delete_timeout"]
