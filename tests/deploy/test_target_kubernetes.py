"""Which cluster a stack is on, and what is said when it cannot be asked; no cluster is needed."""

import json
import re
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.soak_sample import sampled

JOB = """
TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train, packages={packages}))
"""


@pytest.fixture
def nowhere(stack: Stack, tmp_path: Path) -> Stack:
    """The stack on a cluster that does not answer."""
    name = "nowhere"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": name, "user": {"token": "planted-token"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    for key, value in (("target", "kubernetes"), ("kubeconfig", str(file))):
        stack.run("config", "set", f"trainer:{key}", value)
    stack.program(JOB.format(packages=[]))
    return stack


def test_a_preview_without_its_cluster_warns_and_shows_everything(nowhere: Stack) -> None:
    shown = nowhere.preview()
    assert "warning: the cluster does not answer, the preview goes on without it" in shown
    assert "JAX_COORDINATOR_ADDRESS" in shown
    assert "trainer-infra.dev/run" in shown


def test_an_up_without_its_cluster_is_one_sentence_and_leaves_nothing(nowhere: Stack) -> None:
    shown = nowhere.up(ok=False)
    assert "https://127.0.0.1:9" in shown
    assert "Traceback" not in shown
    assert nowhere.resources("trainer:TrainJob") == []
    assert "planted-token" not in nowhere.export()


def test_an_engine_is_not_asked_for_and_one_that_is_unknown_is_refused_with_the_choices(
    nowhere: Stack,
) -> None:
    assert re.search('engine *: "provider"', nowhere.preview())
    choices = (
        "run `pulumi config set trainer:engine provider` or `pulumi config set trainer:engine "
        "controller`"
    )
    nowhere.run("config", "set", "trainer:engine", "other")
    shown = nowhere.preview(ok=False)
    assert f"trainer:engine: must be provider or controller, got 'other'; {choices}" in shown


def test_a_preview_of_engine_controller_without_its_cluster_shows_the_trainjob(
    nowhere: Stack,
) -> None:
    nowhere.run("config", "set", "trainer:engine", "controller")
    shown = nowhere.preview()
    assert shown.count("the cluster does not answer, the preview goes on without it") == 1
    assert "trainer.kubeflow.org/trainer-infra" in shown
    assert "JAX_COORDINATOR_ADDRESS" in shown


def test_a_preview_shows_how_pods_install_packages_and_what_to_do_about_it(nowhere: Stack) -> None:
    nowhere.program(JOB.format(packages=["six==1.17.0"]))
    shown = nowhere.preview()
    assert "/opt/trainer-infra/code/packages.py" in shown
    assert "each pod installs the packages anew at each start" in shown

    nowhere.run("config", "set", "trainer:packages", "/var/cache/packages")
    shown = nowhere.preview()
    assert "/var/cache/packages/default" in shown
    assert "anew at each start" not in shown

    member = (
        '{"runtime": "jax-distributed", "trainer": CustomTrainer(train, packages=["six==1.17.0"])}'
    )
    nowhere.program(f'from trainer_infra import TrainJobs\nTrainJobs("sweep", {{"a": {member}}})')
    shown = nowhere.preview()
    assert "/var/cache/packages/default" in shown
    assert "anew at each start" not in shown

    nowhere.run("config", "set", "trainer:packages", "s3://packages")
    shown = nowhere.preview(ok=False)
    assert "stack configuration trainer:packages: is not an address of a folder" in shown


@pytest.mark.parametrize(
    "trainer",
    sampled(
        ['Trl("sft", packages=["trl==1.16.0"])', 'Fsdp2(train, packages=["six==1.17.0"])'], every=2
    ),
)
def test_every_trainer_keeps_its_packages_where_the_stack_says(
    nowhere: Stack, trainer: str
) -> None:
    nowhere.program(
        f"""
        from trainer_infra import Fsdp2, Trl
        TrainJob("job", runtime="torch-distributed", trainer={trainer}, outputs={{"model": "s3://a"}})
        """
    )
    nowhere.run("config", "set", "trainer:packages", "/var/cache/packages")
    shown = nowhere.preview()
    assert "/var/cache/packages/default" in shown
    assert "anew at each start" not in shown


NAMESPACES = """
from trainer_infra import TrainingRuntime, TrainJobs, catalog
TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train))
TrainJob("own", runtime="jax-distributed", trainer=CustomTrainer(train), namespace="mine")
TrainJobs("sweep", {"a": {"runtime": "jax-distributed", "trainer": CustomTrainer(train)}})
mine = TrainingRuntime("mine", catalog.get("jax-distributed"))
TrainJob("on-mine", runtime=mine, trainer=CustomTrainer(train))
"""


def test_the_namespace_of_the_stack_is_that_of_what_names_none(nowhere: Stack) -> None:
    nowhere.program(NAMESPACES)
    nowhere.run("config", "set", "trainer:namespace", "team")
    shown = nowhere.preview()
    assert set(re.findall(r"namespace *: \"(\S+)\"", shown)) == {"team", "mine"}

    nowhere.run("config", "set", "trainer:namespace", "My Team")
    assert "My Team" in nowhere.preview(ok=False)


def test_a_kubeconfig_that_is_missing_is_named(nowhere: Stack) -> None:
    nowhere.run("config", "set", "trainer:kubeconfig", "missing/kubeconfig")
    shown = nowhere.up(ok=False)
    assert "missing/kubeconfig" in shown
    assert "Traceback" not in shown


def test_a_secret_kubeconfig_in_the_configuration_is_read_and_not_in_the_state(
    nowhere: Stack, tmp_path: Path
) -> None:
    text = (tmp_path / "kubeconfig").read_text()
    nowhere.run("config", "set", "--secret", "trainer:kubeconfig", text)
    shown = nowhere.up(ok=False)
    assert "https://127.0.0.1:9" in shown
    assert "planted-token" not in shown
    assert "planted-token" not in nowhere.export()
