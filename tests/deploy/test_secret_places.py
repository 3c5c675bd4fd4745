"""A secret stands behind one door: everywhere else it is refused by its path."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks, settings
from typing_extensions import override

from tests.deploy import secret_places
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


class Registered(mocks.Mocks):
    """Takes every resource, and keeps what was registered."""

    def __init__(self) -> None:
        self.inputs: list[dict[str, Any]] = []

    @override
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.inputs.append(args.inputs)
        return args.name, args.inputs

    @override
    def call(self, _args: mocks.MockCallArgs) -> tuple[dict[Any, Any], None]:
        return {}, None


@pytest.fixture
def engine() -> Iterator[Registered]:
    made = Registered()
    before = dict(settings.SETTINGS.__dict__)
    try:
        asyncio.get_event_loop()
    except RuntimeError:
        # An earlier test of this process called asyncio.run, which leaves the thread without one.
        asyncio.set_event_loop(asyncio.new_event_loop())
    mocks.set_mocks(made, project="p", stack="s", preview=True)
    yield made
    settings.SETTINGS.rpc_manager.clear()
    settings.SETTINGS.outputs.clear()
    settings.SETTINGS.__dict__.update(before)


def constructed(make: Any) -> None:
    def program() -> None:
        # Outputs of what is refused end with an exception that nobody asks for. Python before
        # 3.11.9 parses a source to print it, and fails (gh-106905) where that comes in the midst of
        # another parse, as when its garbage is collected there.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        make()

    pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]  # the SDK has no types here


@pytest.mark.parametrize("kind", ["Secret", "Output"])
@pytest.mark.parametrize("place", secret_places.PLACES)
def test_a_secret_outside_the_door_is_refused_by_its_path(
    engine: Registered, place: str, kind: str
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
    engine: Registered, make: Callable[[], object], setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"trainer:{setting}"
    monkeypatch.setattr(pulumi.runtime, "is_config_secret", lambda asked: asked == key)
    with pytest.raises(pulumi.RunError, match=f"^stack configuration: {key}: cannot hold a secret"):
        constructed(make)
    assert engine.inputs == []


def test_a_secret_behind_the_door_is_taken(engine: Registered) -> None:
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
    engine: Registered, kind: str, value: object, holds: str
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
