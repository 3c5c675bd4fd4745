"""The published SDK's types in a program, by `pulumi up`: on this machine and on a cluster.

The function's source has what the SDK's own script for a shell would change, and its last lines lose.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import initializer_image, package_image
from tests.deploy.project import Stack
from tests.e2e import runtimes
from tests.e2e.cluster import Namespace
from trainer_infra import catalog
from trainer_infra.catalog.initializers import with_initializers

TEXT = "\ncost $5 ${PRICE} $(echo sub) `date` \\\nEOM\n"
PROGRAM = """
import json, pathlib
from kubeflow.trainer import (
    CustomTrainer as Function, CustomTrainerContainer, HuggingFaceDatasetInitializer, Initializer,
)
from kubeflow.trainer.options import (
    ActiveDeadlineSeconds, Annotations, ContainerPatch, JobSetSpecPatch, JobSetTemplatePatch, JobSpecPatch,
    JobTemplatePatch, Labels, Name, PodSpecPatch, PodTemplatePatch, ReplicatedJobPatch, RuntimePatch,
    TrainerArgs, TrainerCommand, TrainingRuntimeSpecPatch,
)
place = json.loads(pathlib.Path("place.json").read_text())

def fit(price):
    import hashlib, os
    from pathlib import Path
    from trainer_infra.report import report
    from trainer_infra.storage import mounted
    text = '''
cost $5 ${PRICE} $(echo sub) `date` \\\\
EOM
'''
    folder = Path(mounted("/workspace")) / "dataset"
    found = ",".join(sorted(each.name for each in folder.glob("[a-z]*")))
    report(progress=100, text=hashlib.md5(text.encode()).hexdigest(), price=price, variable=os.environ["PRICE"], found=found)

def mounting(folder):
    pod = PodSpecPatch(
        volumes=[{"name": "source", "hostPath": {"path": folder}}],
        containers=[ContainerPatch(
            name="dataset-initializer", volume_mounts=[{"name": "source", "mountPath": "/opt/source"}])])
    job = JobTemplatePatch(spec=JobSpecPatch(template=PodTemplatePatch(spec=pod)))
    jobs = [ReplicatedJobPatch(name="dataset-initializer", template=job)]
    jobset = JobSetTemplatePatch(spec=JobSetSpecPatch(replicated_jobs=jobs))
    return RuntimePatch(TrainingRuntimeSpecPatch(template=jobset))

patches = [mounting(place["mounted"])] if place["mounted"] else []
function = TrainJob(
    "function",
    runtime=place["runtime"],
    namespace=place["ns"],
    initializer=Initializer(HuggingFaceDatasetInitializer(
        place["source"], ignore_patterns=["*.bin"], access_token="planted-token")),
    trainer=Function(fit, {"price": "$5 $(PRICE)"}, image=place["image"], num_nodes=1,
                     resources_per_node={"cpu": 0.05}, env={"PRICE": "7$"}),
    options=[Labels({"team": "a"}), Annotations({"note": "b"}), ActiveDeadlineSeconds(300), *patches],
    wait_for="complete",
)
pulumi.export("function", function.metrics)
TrainJob(
    "words",
    runtime=place["plain"],
    namespace=place["ns"],
    trainer=CustomTrainerContainer(place["image"], env={"ONE": "1", "TWO": "$(ONE)2"}),
    options=[Name(place["name"]), TrainerCommand(["sh", "-c", 'echo "$TWO and $0 and $(echo sub)"']),
             TrainerArgs(["$(TWO)"])],
    wait_for="complete",
)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A dataset, of which one file is not wanted."""
    folder = tmp_path / "source"
    folder.mkdir()
    folder.chmod(0o755)
    for name in ("rows.txt", "weights.bin"):
        (folder / name).write_text(name)
    return folder


def trained(stack: Stack, place: dict[str, Any], *logs: str) -> None:
    """One `up` trains with all of it, and another changes nothing."""
    (stack.folder / "place.json").write_text(json.dumps(place))
    stack.program(PROGRAM)
    stack.up()
    found = stack.outputs()["function"]
    assert found["text"] == hashlib.md5(TEXT.encode()).hexdigest()
    assert (found["price"], found["variable"], found["found"]) == ("$5 $(PRICE)", "7$", "rows.txt")
    assert stack.job("function")["labels"] == {"team": "a"}
    assert "12 and 12 and sub" in stack.trainer("logs", place["name"], *logs)
    assert "planted-token" not in stack.export()
    stack.unchanged()


@pytest.mark.soak
def test_on_this_machine(stack: Stack, source: Path) -> None:
    plain = catalog.get("plain-distributed")
    place = {
        "ns": "default",
        "image": "example.com/any",
        "name": "words",
        "runtime": with_initializers(plain).to_wire(),
        "plain": plain.to_wire(),
        "source": source.as_uri(),
        "mounted": "",
    }
    trained(stack, place)


def test_on_a_cluster(cluster_stack: Stack, namespace: Namespace, image: str, source: Path) -> None:
    plain = runtimes.on_host("plain-distributed")
    fetching = package_image.loaded(initializer_image.IMAGE)
    place = {
        "ns": namespace.name,
        "image": image,
        "name": f"words-{namespace.name}",
        "runtime": with_initializers(plain, image=fetching).to_wire(),
        "plain": plain.to_wire(),
        "source": f"file://{runtimes.SOURCE}",
        "mounted": str(source),
    }
    trained(cluster_stack, place, "--namespace", namespace.name)

    kept = namespace.kubectl("get", "jobsets,jobs,pods,configmaps", "--output", "json")
    assert "planted-token" not in kept
    assert "ACCESS_TOKEN" in kept
