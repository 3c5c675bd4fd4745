"""Resources of ours inside components, as platform teams build them, with the real engine."""

from textwrap import dedent

import pytest

from tests.deploy.project import Stack

COMPONENT = '''
from trainer_infra import TrainJobs, TrainingRuntime, catalog

class Team(pulumi.ComponentResource):
    """A runtime, a job and a sweep, as a platform team would wrap them."""

    def __init__(self, name, opts=None):
        super().__init__("acme:index:Team", name, {}, opts)
        mine = pulumi.ResourceOptions(parent=self)
        runtime = TrainingRuntime(f"{name}-runtime", catalog.get("jax-distributed"), opts=mine)
        self.job = TrainJob(f"{name}-job", runtime=runtime, trainer=CustomTrainer(train),
                            wait_for="complete", opts=mine)
        again = CustomTrainer(train, func_args={"text": self.job.metrics["accuracy"]})
        members = {"a": {"runtime": "jax-distributed", "trainer": again}}
        self.sweep = TrainJobs(f"{name}-sweep", members, wait_for="complete", opts=mine)
        self.accuracy = self.job.metrics["accuracy"]
        self.register_outputs({"accuracy": self.accuracy})

class Platform(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("acme:index:Platform", name, {}, opts)
        self.team = Team(f"{name}-team", pulumi.ResourceOptions(parent=self))
        self.register_outputs({})
'''
CHILDREN = 5
"""Resources in a team: runtime, job, its gate, sweep, its gate."""


def ours(stack: Stack) -> list[str]:
    """URNs of our resources in the state."""
    return [each["urn"] for each in stack.resources("") if "trainer:" in each["type"]]


def uids(stack: Stack) -> list[str]:
    return sorted(run["uid"] for run in stack.runs())


def test_everything_works_in_a_component_that_is_in_a_component(stack: Stack) -> None:
    use = 'pulumi.export("accuracy", Platform("p").team.accuracy)\n'
    stack.program(COMPONENT + use)
    assert "circular" not in stack.preview()

    stack.up()

    assert stack.outputs() == {"accuracy": 0.97}
    assert len(ours(stack)) == CHILDREN
    assert all("acme:index:Platform$acme:index:Team$" in urn for urn in ours(stack))
    before = uids(stack)
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()
    assert uids(stack) == before
    stack.run("destroy", "--yes")
    assert stack.runs() == []


def test_a_job_that_depends_on_a_component_runs_after_all_that_is_in_it(stack: Stack) -> None:
    use = """
    team = Team("t")
    TrainJob("after", runtime="jax-distributed", trainer=CustomTrainer(train, func_args={"text": "after"}),
             wait_for="complete", opts=pulumi.ResourceOptions(depends_on=[team]))
    """
    stack.program(COMPONENT + dedent(use))
    stack.up()
    (after,) = (each for each in stack.resources(":TrainJob") if each["urn"].endswith("::after"))
    waited_for = {each.rpartition("trainer:")[2] for each in after["dependencies"]}
    assert waited_for >= {"Result::t-job", "Results::t-sweep"}
    runs = {run["name"].rpartition("-")[0]: run for run in stack.runs()}
    assert runs["after"]["created"] >= runs["t-job"]["finished"]
    assert runs["after"]["created"] >= runs["t-sweep-a"]["finished"]
    stack.unchanged()


def test_a_component_is_renamed_and_moved_and_keeps_its_runs(stack: Stack) -> None:
    stack.program(COMPONENT + 'Team("t")\n')
    stack.up()
    before = uids(stack)
    renamed = COMPONENT.replace('f"{name}-', 'f"t-')
    stack.program(renamed + 'Team("u", pulumi.ResourceOptions(aliases=[pulumi.Alias(name="t")]))\n')

    stack.up()

    assert uids(stack) == before
    assert all("::t-" in urn for urn in ours(stack))
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()
    place = "pulumi.ResourceOptions(parent=self, aliases=[pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE)])"
    moved = renamed.replace(
        'Team(f"t-team", pulumi.ResourceOptions(parent=self))', f'Team("u", {place})'
    )
    assert place in moved
    stack.program(moved + 'Platform("p")\n')
    stack.up()
    assert uids(stack) == before
    stack.unchanged()
    stack.run("destroy", "--yes")
    assert stack.runs() == []


@pytest.mark.parametrize(
    "form",
    ["providers=[mine]", pytest.param('providers={"pulumi-python": mine}', marks=pytest.mark.soak)],
)
def test_a_component_hands_its_providers_down(stack: Stack, form: str) -> None:
    use = f"""
    mine = pulumi.ProviderResource("pulumi-python", "mine", {{}})
    Team("t", pulumi.ResourceOptions({form}))
    """
    stack.program(COMPONENT + dedent(use))
    stack.up()
    provided = [each["provider"] for each in stack.resources("") if "trainer:" in each["type"]]
    assert len(provided) == CHILDREN
    assert all("::mine::" in each for each in provided)
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()
    stack.run("destroy", "--yes")
    assert stack.runs() == []


def test_a_component_of_another_package_wraps_a_job(stack: Stack) -> None:
    package = stack.folder / "acme_platform"
    package.mkdir()
    (package / "__init__.py").write_text(
        dedent(
            """
            import pulumi
            from trainer_infra import CustomTrainer, TrainJob

            class Digits(pulumi.ComponentResource):
                def __init__(self, name, trainer, opts=None):
                    super().__init__("acme-platform:index:Digits", name, None, opts)
                    job = TrainJob(name, runtime="jax-distributed", trainer=trainer, wait_for="complete",
                                   opts=pulumi.ResourceOptions(parent=self))
                    self.accuracy = job.metrics["accuracy"]
                    self.register_outputs({"accuracy": self.accuracy})
            """
        )
    )
    stack.program(
        """
        from acme_platform import Digits
        pulumi.export("accuracy", Digits("digits", CustomTrainer(train)).accuracy)
        """
    )
    stack.up()
    assert stack.outputs() == {"accuracy": 0.97}
    stack.unchanged()


REMOTE = """
from typing import Optional, TypedDict
import pulumi
from pulumi.provider.experimental import component_provider_host
from trainer_infra import CustomTrainer, TrainJob

class DigitsArgs(TypedDict):
    text: pulumi.Input[str]

class Digits(pulumi.ComponentResource):
    accuracy: pulumi.Output[float]

    def __init__(self, name: str, args: DigitsArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("acme:index:Digits", name, {}, opts)
        job = TrainJob(name, runtime="jax-distributed", wait_for="complete",
                       trainer=CustomTrainer(FILE, func_args={"text": args["text"]}),
                       opts=pulumi.ResourceOptions(parent=self))
        self.accuracy = job.metrics["accuracy"].apply(float)
        self.register_outputs({"accuracy": self.accuracy})

if __name__ == "__main__":
    component_provider_host(name="acme", components=[Digits])
"""


@pytest.mark.soak
def test_a_remote_component_wraps_a_job(cli_stack: Stack) -> None:
    """Another process constructs it: a component package, as `pulumi package add` takes it."""
    cli_stack.program("")
    training = (cli_stack.folder / "__main__.py").read_text().partition("def train")[2]
    package = cli_stack.folder / "acme"
    package.mkdir()
    (package / "train.py").write_text(f"def train{training}")
    (package / "PulumiPlugin.yaml").write_text("runtime: python\nname: acme\n")
    place = repr(f"{package}/train.py:train")
    (package / "__main__.py").write_text(REMOTE.replace("FILE", place))
    project = cli_stack.folder / "Pulumi.yaml"
    project.write_text(
        f"{project.read_text()}\nplugins:\n  providers:\n    - name: acme\n      path: ./acme\n"
    )
    cli_stack.program(
        """
        class Digits(pulumi.ComponentResource):
            accuracy: pulumi.Output[float]
            def __init__(self, name, opts=None):
                super().__init__("acme:index:Digits", name, {"text": "far", "accuracy": None}, opts, remote=True)
        pulumi.export("accuracy", Digits("digits").accuracy)
        """
    )

    cli_stack.up()

    assert cli_stack.outputs() == {"accuracy": 0.97}
    (run,) = cli_stack.runs()
    assert "far" in cli_stack.trainer("logs", run["name"])
    cli_stack.unchanged()
    cli_stack.run("destroy", "--yes")
    assert cli_stack.runs() == []
