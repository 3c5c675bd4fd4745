"""A secret stands behind one door: everywhere else it is refused by its path."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from tests.deploy import secret_places
from tests.deploy.mock_engine import MockEngine, constructed
from trainer_infra import (
    CustomTrainer,
    EnvVarArgs,
    InitializerArgs,
    Secret,
    TrainingRuntime,
    TrainJob,
    TrainJobArgs,
    TrainJobs,
    catalog,
)

PLANTED = "planted-4c1e"


@pytest.mark.parametrize("kind", ["Secret", "Output"])
@pytest.mark.parametrize("place", secret_places.PLACES)
def test_a_secret_outside_the_door_is_refused_by_its_path(
    engine: MockEngine, place: str, kind: str
) -> None:
    make, path = secret_places.PLACES[place]
    with pytest.raises(pulumi.RunError) as refused:
        constructed(lambda: make("x", secret_places.secret(PLANTED, kind)))
    assert f": {path}: cannot hold a secret" in str(refused.value)
    assert PLANTED not in str(refused.value)
    assert PLANTED not in str(engine.inputs)


def test_there_are_enough_places_and_each_argument_of_a_job_is_among_them() -> None:
    arguments = set(TrainJobArgs.__annotations__)
    planted = {key for _, given in secret_places.OF_A_JOB.values() for key in given}
    assert arguments <= planted
    assert len(secret_places.PLACES) >= 40


SETTINGS = ("target", "namespace", "outputs", "packages", "code", "codeSecret", "codeImage")


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: TrainJob("x", runtime=secret_places.RUNTIME),
        lambda: TrainJobs("x", {"m": {"runtime": secret_places.RUNTIME}}),
        lambda: TrainingRuntime("x", catalog.get(secret_places.RUNTIME)),
    ],
)
def test_a_setting_of_the_stack_that_a_run_shows_is_no_secret(
    engine: MockEngine, make: Callable[[], object], setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"trainer:{setting}"
    monkeypatch.setattr(pulumi.runtime, "is_config_secret", lambda asked: asked == key)
    with pytest.raises(pulumi.RunError, match=f"^stack configuration: {key}: cannot hold a secret"):
        constructed(make)
    assert engine.inputs == []


def test_a_secret_behind_the_door_is_taken(engine: MockEngine) -> None:
    def make() -> object:
        fed = pulumi.Output.secret(PLANTED)
        trainer = CustomTrainer(
            secret_places.train, env={"A": fed, "B": Secret(PLANTED)}, func_args=None
        )
        env: list[EnvVarArgs] = [{"name": "T", "value": fed}]
        initializer: InitializerArgs = {"dataset": {"storageUri": "hf://a/b", "env": env}}
        return TrainJob("x", runtime="torch-distributed", trainer=trainer, initializer=initializer)

    constructed(make)
    (inputs,) = engine.inputs
    carried = inputs.pop("secretData")["value"]
    assert set(carried) == {"env.A", "env.B", "initializer.dataset.env.T"}
    assert PLANTED not in str(inputs)


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (None, "nothing"),
        (42, "a number"),
        (True, "a boolean"),
        ({"a": PLANTED}, "a mapping"),
        ([PLANTED], "a list"),
        (Secret(PLANTED), "another Secret"),
    ],
)
@pytest.mark.parametrize("kind", ["wire", "custom", "initializer"])
def test_a_secret_variable_is_text(
    engine: MockEngine, kind: str, value: object, holds: str
) -> None:
    env = [{"name": "A", "value": Secret(value)}]
    custom = CustomTrainer(secret_places.train, env={"A": Secret(value)})
    arguments: dict[str, dict[str, Any]] = {
        "wire": {"trainer": {"env": env}},
        "custom": {"trainer": custom},
        "initializer": {"initializer": {"dataset": {"env": env}}},
    }
    path = {
        "wire": "spec.trainer.env[0].value",
        "custom": "env.A",
        "initializer": "spec.initializer.dataset.env[0].value",
    }[kind]
    with pytest.raises(pulumi.RunError) as refused:
        constructed(lambda: TrainJob("x", runtime="torch-distributed", **arguments[kind]))
    assert str(refused.value) == (
        f"TrainJob x: {path}: a secret variable is text, and this Secret holds {holds}; "
        'give it text, as Secret("...")'
    )
    assert engine.inputs == []
