"""Policy packs in `pulumi preview` and `pulumi up`, by the real Pulumi CLI."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.deploy.project import Stack

ROOT = Path(__file__).resolve().parent.parent.parent
TRAINING = ("--policy-pack", str(ROOT / "policies" / "training"))

RUNTIME = """
from trainer_infra import ClusterTrainingRuntime, catalog
wire = catalog.get("jax-distributed").to_wire()
wire["metadata"] = {{"name": "mine", "labels": wire["metadata"]["labels"]}}
pod = wire["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
pod["containers"][0]["securityContext"] = {{"privileged": {privileged}}}
"""
RESOURCE = RUNTIME + 'mine = ClusterTrainingRuntime("mine", wire)\n'
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
BAD_JOB = f"""
TrainJob("job", runtime="jax-distributed", suspend=True,
         trainer={{"command": ["true"], "env": [{{"name": "HF_TOKEN", "value": "{TOKEN}"}}]}})
"""
GOOD_JOB = (
    'TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train), wait_for="complete")'
)
DEPRECATED = """
from trainer_infra import catalog
wire = catalog.get("jax-distributed").to_wire()
labels = {**wire["metadata"]["labels"], "trainer.kubeflow.org/support": "deprecated"}
wire["metadata"] = {"name": "old", "labels": labels}
"""


@pytest.fixture
def cluster(stack: Stack, api_server: RunningServer) -> Stack:
    """A stack for a cluster: rules about clusters say nothing of what runs on this machine."""
    stack.run("config", "set", "trainer:target", "kubernetes")
    return Stack(stack.folder, {**stack.env, "KUBECONFIG": str(api_server.kubeconfig)})


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A user's own pack, which mends privileged pods."""
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "PulumiPolicy.yaml").write_text(
        f"name: acme\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    )
    (folder / "__main__.py").write_text(
        dedent("""
        from trainer_infra.crossguard import policy_pack
        from trainer_infra.rules.pack import Enforcement, Pack, Selection, Setting

        policy_pack.serve_pack(
            Pack(
                "acme",
                selection=Selection(tags=("pod-security",)),
                settings={"privileged": Setting(enforcement=Enforcement.REMEDIATE)},
            )
        )
        """)
    )
    return folder


def test_a_mandatory_rule_stops_a_train_job_and_never_shows_the_secret(stack: Stack) -> None:
    stack.program(BAD_JOB)

    said = stack.run("up", "--yes", *TRAINING, ok=False)

    assert "literal-secrets" in said
    assert "spec.trainer.env[0].value: has a secret in it, got 'Hugging Face token'" in said
    assert "secretKeyRef" in said
    assert TOKEN not in said
    assert stack.resources("trainer:TrainJob") == []


def test_a_mandatory_rule_stops_a_typed_runtime_and_what_a_job_renders_to(cluster: Stack) -> None:
    cluster.program(RESOURCE.format(privileged=True))
    said = cluster.run("up", "--yes", *TRAINING, ok=False)
    where = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]"
    assert f"{where}.securityContext.privileged: " in said
    assert cluster.resources("trainer:ClusterRuntime") == []

    job = 'TrainJob("job", runtime=wire, suspend=True, trainer={"command": ["true"]})'
    cluster.program(RUNTIME.format(privileged=True) + job)
    said = cluster.run("up", "--yes", *TRAINING, ok=False)
    assert "spec.runtimeRef.name: " in said
    assert "seen at JobSet job-" in said
    assert cluster.resources("trainer:TrainJob") == []


@pytest.mark.soak
def test_an_advisory_rule_warns_and_everything_is_deployed(stack: Stack) -> None:
    stack.program(DEPRECATED + GOOD_JOB.replace('"jax-distributed"', "wire"))
    said = stack.run("up", "--yes", *TRAINING)
    assert "runtime-deprecated" in said
    assert "image-digest" not in said
    assert stack.job()["lastSeen"]
    stack.run("up", "--yes", "--expect-no-changes", *TRAINING)


def test_a_value_that_is_not_known_yet_is_said_and_hides_no_other_violation(stack: Stack) -> None:
    stack.program(
        GOOD_JOB.replace('TrainJob("job"', 'first = TrainJob("first"')
        + f"""
image = first.metrics.apply(lambda found: "train:" + str(found["accuracy"]))
TrainJob("second", runtime="jax-distributed", suspend=True,
         trainer={{"image": image, "env": [{{"name": "HF_TOKEN", "value": "{TOKEN}"}}]}})
"""
    )
    said = stack.run("preview", *TRAINING, ok=False)
    assert "spec.trainer.env[0].value: has a secret in it" in said
    (unseen,) = (line for line in said.splitlines() if "not known yet, and so" in line)
    assert "spec.trainer.image" in unseen
    assert "literal-secrets" in unseen
    assert TOKEN not in said


@pytest.mark.soak
def test_remediation_changes_what_is_deployed_and_a_replace_cannot_pass_without(
    cluster: Stack, pack: Path
) -> None:
    acme = ("--policy-pack", str(pack))
    cluster.program(RESOURCE.format(privileged=True))

    cluster.run("up", "--yes", *acme)

    (runtime,) = cluster.resources("trainer:ClusterRuntime")
    text = str(runtime["outputs"]["spec"]), str(runtime["inputs"]["rendered"])
    assert all("'privileged': False" in each for each in text)
    cluster.run("preview", "--expect-no-changes", *acme)

    cluster.program(
        RESOURCE.format(privileged=True).replace('"mine", wire', '"mine", wire, name="b"')
    )
    for arguments in (("preview",), ("up", "--yes", "--skip-preview")):
        assert "replace" in cluster.run(*arguments, *acme)
    (runtime,) = cluster.resources("trainer:ClusterRuntime")
    assert runtime["outputs"]["name"] == "b"
    assert "'privileged': False" in str(runtime["outputs"]["spec"])
    cluster.run("preview", "--expect-no-changes", *acme)


@pytest.mark.soak
def test_a_configuration_is_stricter_in_one_environment_and_an_exemption_is_told(
    cluster: Stack, pack: Path
) -> None:
    (pack / "__main__.py").write_text(
        dedent("""
        from pathlib import Path

        from trainer_infra.crossguard import policy_pack
        from trainer_infra.rules import packs

        policy_pack.serve_pack(packs.TRAINING, Path(__file__).with_name("policy.yaml"))
        """)
    )
    (pack / "policy.yaml").write_text(
        "environments: {production: {rules: {image-digest: {enforcement: mandatory}}}}\n"
    )
    job = """
    TrainJob("job", runtime="jax-distributed", suspend=True, annotations={annotations},
             trainer={{"image": "train:v1", "command": ["true"]}})
    """
    cluster.program(job.format(annotations={}))
    cluster.run("preview", "--policy-pack", str(pack))
    cluster = Stack(cluster.folder, {**cluster.env, "TRAINER_INFRA_ENVIRONMENT": "production"})
    said = cluster.run("preview", "--policy-pack", str(pack), ok=False)
    assert "spec.trainer.image: is not pinned by a digest, got 'train:v1'" in said

    soon = datetime.now(UTC).date() + timedelta(days=60)
    excuse = f'{{owner: vision, reason: "built daily", expires: {soon}}}'
    cluster.program(job.format(annotations={"exempt.trainer-infra.dev/image-digest": excuse}))
    said = cluster.run("preview", "--policy-pack", str(pack))
    assert f"vision answers for it until {soon}: built daily" in said
    assert "is not pinned by a digest" not in said


@pytest.mark.soak
def test_parameters_are_the_packs_unless_pulumi_is_given_others(cluster: Stack, pack: Path) -> None:
    (pack / "__main__.py").write_text(
        dedent("""
        from trainer_infra.crossguard import policy_pack
        from trainer_infra.rules.pack import Enforcement, Pack, Selection, Setting

        settings = {
            "nodes-limit": Setting(enforcement=Enforcement.MANDATORY, parameters={"nodes": 2}),
            "image-latest": Setting(parameters={"tags": ["nightly"]}),
        }
        policy_pack.serve_pack(Pack("acme", selection=Selection(ids=()), settings=settings))
        """)
    )
    cluster.program("""
    TrainJob("job", runtime="jax-distributed", suspend=True,
             trainer={"image": "train:nightly", "command": ["true"], "numNodes": 3})
    """)
    acme = ("--policy-pack", str(pack))
    said = cluster.run("preview", *acme, ok=False)
    assert "spec.trainer.numNodes: makes more nodes than the 2 that are allowed" in said
    assert "spec.trainer.image: " in said

    config = cluster.folder / "acme.json"
    config.write_text('{"nodes-limit": {"nodes": 3}, "image-latest": "disabled"}')
    said = cluster.run("preview", *acme, "--policy-pack-config", str(config))
    assert "spec.trainer." not in said
