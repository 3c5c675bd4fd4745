"""The catalog holds what the reference installs, and four runtimes of ours."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline

OURS = (
    "plain-distributed",
    "flux-distributed",
    "torchtune-llama3.3-70b",
    "torch-distributed-with-initializers",
)
LLAMAS = ("torchtune-llama3.2-1b", "torchtune-llama3.2-3b", "torchtune-llama3.3-70b")
NAMES = tuple(each.name for each in catalog.RUNTIMES)

each_runtime = pytest.mark.parametrize("shipped", catalog.RUNTIMES, ids=NAMES)


def render(name: str, **trainer: Any) -> list[Any]:
    """The replicated jobs of a TrainJob on a shipped runtime."""
    spec = {"runtimeRef": {"name": name}, "trainer": trainer}
    job = TrainJob.from_wire({"metadata": {"name": "tj", "namespace": "n"}, "spec": spec})
    jobs: list[Any] = pipeline.render(job, catalog.get(name))[-1]["spec"]["replicatedJobs"]
    return jobs


def node(jobs: list[Any]) -> Any:
    return jobs[-1]["template"]["spec"]["template"]["spec"]["containers"][0]


def test_what_the_reference_installs_is_the_same_object_for_object(
    installed: dict[str, Any],
) -> None:
    ours = {name: catalog.get(name).to_wire() for name in NAMES if name not in OURS}
    assert ours == installed
    assert len(ours) == 9


def test_flux_has_the_image_and_policy_of_the_references_example(reference_module: Any) -> None:
    example = (reference_module / "examples" / "flux" / "flux-runtime.yaml").read_text()
    spec = catalog.get("flux-distributed").to_wire()["spec"]
    pod = spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert f"image: {pod['containers'][0]['image']}\n" in example
    assert spec["mlPolicy"] == {"numNodes": 1, "flux": {}}
    assert "name: flux-distributed\n" in example


@each_runtime
def test_each_is_valid_and_read_back_as_it_is(shipped: ShippedRuntime) -> None:
    runtime = shipped.runtime()
    assert ClusterTrainingRuntime.from_wire(runtime.to_wire()) == runtime
    assert catalog.get(shipped.name) == runtime


@each_runtime
def test_each_says_what_it_is_for_in_one_line(shipped: ShippedRuntime) -> None:
    assert 20 <= len(shipped.purpose) <= 70
    assert "\n" not in shipped.purpose


@each_runtime
def test_each_renders_a_job_that_names_its_nodes(shipped: ShippedRuntime) -> None:
    jobs = render(shipped.name, numNodes=1, command=["true"])
    assert "node" in {each["name"] for each in jobs}
    assert node(jobs)["name"] == "node"


def test_llama_3_3_70b_trains_on_several_nodes() -> None:
    jobs = render("torchtune-llama3.3-70b", command=["tune", "run"], numNodes=2)
    assert [each["template"]["spec"]["parallelism"] for each in jobs] == [1, 1, 2]
    assert node(jobs)["command"] == [
        "tune",
        "run",
        "--rdzv_endpoint=tj-node-0-0.tj:29500",
        "full_finetune_distributed",
        "--config",
        "llama3_3/70B_full_multinode",
        "dataset=torchtune.datasets.instruct_dataset",
        "dataset.source=parquet",
        "dataset.data_dir=/workspace/dataset/data",
        "output_dir=/workspace/output",
        "tokenizer.path=/workspace/model/original/tokenizer.model",
        "checkpointer.checkpoint_dir=/workspace/model",
    ]


def test_llama_3_3_70b_meets_at_its_first_node_when_it_runs_its_own_command() -> None:
    container = node(render("torchtune-llama3.3-70b"))
    assert container["command"][2] == "--rdzv_endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"
    values = {each["name"]: each.get("value") for each in container["env"]}
    assert values["PET_NNODES"] == "2"
    assert values["PET_MASTER_ADDR"] == "tj-node-0-0.tj"
    assert values["PET_MASTER_PORT"] == "29500"


def test_two_calls_share_nothing_that_can_be_changed() -> None:
    first = catalog.get("torchtune-llama3.2-1b")
    template = first.spec.template
    assert template is not None
    assert template.spec is not None
    template.spec["replicatedJobs"].clear()
    assert catalog.get("torchtune-llama3.2-1b") != first


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("jax", "did you mean jax-distributed? "),
        ("jax-distribted", "did you mean jax-distributed? "),
        ("llama", f"did you mean {' or '.join(LLAMAS)}? "),
        ("nothing", ""),
        ("", ""),
    ],
)
def test_an_unknown_name_is_refused_with_those_like_it(name: str, advice: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        catalog.get(name)
    assert str(caught.value) == (
        "spec.runtimeRef.name: names a runtime that is neither given nor in the catalog, "
        f"got {name!r}; {advice}`trainer-infra catalog` lists all; or pass a "
        "TrainingRuntime"
    )
