"""Every example for real: on this machine by the commands of its README, on a cluster by those of docs/examples.md.

Their programs run as they are; only the stack says where.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from from_source.cluster import published_image
from tests.deploy.project import Stack, processes_of
from tests.docs import page, walk
from tests.docs.page import ROOT
from tests.e2e.cluster import Namespace
from tests.soak_sample import sampled

EXAMPLES: Final = ROOT / "examples"
FIGURES: Final[Mapping[str, Mapping[str, tuple[float, float]]]] = {
    "deepspeed": {"accuracy": (0.93, 1)},
    "fsdp2": {"accuracy": (0.93, 1)},
    "jax": {"accuracy": (0.93, 1), "loss": (0, 0.3)},
    "mpi": {"accuracy": (0.93, 1), "ranks": (3, 3)},
    "sklearn": {"accuracy": (0.97, 1)},
    "sweep": {"accuracy": (0.97, 1)},
    "torch-ddp": {"accuracy": (0.93, 1)},
    "trl-lora": {"accuracy": (0.6, 1)},
    "xgboost": {"accuracy": (0.93, 1)},
}
"""Outputs of a stack, and between which numbers each is."""
NOTEBOOK: Final = "notebook"
ON_CLUSTER: Final = {
    "mpi": "deepspeed-distributed",
    "jax": "jax-distributed",
    "xgboost": "xgboost-distributed",
    "sklearn": "plain-distributed",
    "sweep": "plain-distributed",
}
"""Examples whose packages are no gigabytes, and their runtimes."""
CLAIM: Final = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: 100Mi}}}}
---
"""


@pytest.fixture
def env(tmp_path: Path, pulumi_env: dict[str, str]) -> Iterator[dict[str, str]]:
    """The variables of who copies an example: a home of their own, and caches that are warm."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    caches = {"TRAINER_INFRA_CACHE": f"{cache}/trainer-infra", "UV_CACHE_DIR": f"{cache}/uv"}
    home = tmp_path / "reader"
    home.mkdir()
    whole = {**caches, **pulumi_env, "HOME": str(home), "PULUMI_SKIP_CONFIRMATIONS": "true"}
    whole.pop("KUBECONFIG", None)
    yield whole
    for process in processes_of(tmp_path):
        process.kill()


def trained(stack: Stack, name: str) -> Mapping[str, Any]:
    """The outputs of a stack, whose figures are right, and of which a second `up` would do nothing."""
    found = stack.outputs()
    for each, (least, most) in FIGURES[name].items():
        assert least <= float(found[each]) <= most, found
    stack.unchanged()
    return found


@pytest.mark.parametrize("name", sorted(FIGURES.keys() - {"mpi"}))
def test_its_readme_leads_to_a_trained_model_on_this_machine(
    name: str, env: dict[str, str]
) -> None:
    with walk.walking(ROOT, env) as reader:
        reader.follow(page.blocks(EXAMPLES / name / "README.md"))
    stack = Stack(reader.folder, env, "dev")
    assert stack.folder == Path(env["HOME"], name)
    outputs = trained(stack, name)
    kept = [outputs.get(each) for each in ("model", "adapter")]
    assert all(any(Path(each).iterdir()) for each in kept if each)

    stack.run("destroy", "--yes")

    assert stack.runs() == []
    assert all(any(Path(each).iterdir()) for each in kept if each), "an output stays"


@pytest.mark.parametrize("name", sampled(ON_CLUSTER, every=5))
def test_its_stack_sends_it_to_a_cluster_as_it_is(
    name: str, env: dict[str, str], kubeconfig: Path, namespace: Namespace
) -> None:
    published_image.loaded(ON_CLUSTER[name])
    for claim in ("models", "packages"):
        namespace.kubectl("apply", "--filename", "-", given=CLAIM.format(name=claim))
    folder = Path(shutil.copytree(EXAMPLES / name, Path(env["HOME"], name)))
    env = {**env, "KUBECONFIG": str(kubeconfig)}
    (commands,) = (
        each
        for each in page.blocks(ROOT / "docs" / "examples.md")
        if each.section == "On a cluster"
    )
    typed = commands.text.replace("namespace team", f"namespace {namespace.name}")
    assert typed != commands.text
    done = subprocess.run(
        ["bash", "-ec", typed],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    stack = Stack(folder, env, "cluster")
    trained(stack, name)
    assert "Complete" in stack.trainer("get"), "the stack says which namespace"

    stack.run("destroy", "--yes")

    assert namespace.names("jobsets") == []


def test_mpi_says_at_preview_that_this_machine_cannot(env: dict[str, str]) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "mpi", Path(env["HOME"], "mpi")))
    stack = Stack(folder, env, "dev")
    stack.pulumi("stack", "init", "dev")
    stack.run("config", "set", "trainer:target", "local")
    said = stack.preview(ok=False)
    assert "run the job on Kubernetes" in said
    assert "Traceback" not in said


def test_jupyter_runs_the_notebook(env: dict[str, str]) -> None:
    folder = Path(shutil.copytree(EXAMPLES / NOTEBOOK, Path(env["HOME"], NOTEBOOK)))
    # The notebook says itself where its state is; Pulumi's `~` is not HOME.
    env = {key: each for key, each in env.items() if key != "PULUMI_BACKEND_URL"}
    file = folder / "notebook.ipynb"
    file.write_text(file.read_text().replace("file://~", f"file://{env['HOME']}"))
    command = [str(Path(sys.executable).parent / "jupyter-execute"), "--inplace", "notebook.ipynb"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cells = json.loads(file.read_text())["cells"]
    said = "".join(
        text for cell in cells for each in cell.get("outputs", ()) for text in each.get("text", ())
    )
    found = re.search(r"depth 4: (0\.\d+), depth 12: (0\.\d+)", said)
    assert found is not None, said
    assert 0.8 < float(found[1]) < 0.95 < float(found[2])
    assert Stack(folder, env).runs() == []


def test_every_example_is_tried() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert folders == {*FIGURES, NOTEBOOK}
