"""How the step that installs packages gets into a job: command, mounts and what counts for a run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.conftest import Write
from trainer_infra import CustomTrainer, catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.errors import InvalidInput
from trainer_infra.render.behaviour import OURS
from trainer_infra.trainers import code_mount, compose, package_mounts
from trainer_infra.trainers.code import Code

INIT = ("python3", "/opt/trainer-infra/code/init.py")
STEP = ("python", "/opt/trainer-infra/code/packages.py")
MAIN = "/opt/trainer-infra/code/main.py"


@pytest.fixture
def code(write: Write) -> Code:
    """Code with a package and wheels in a claim."""
    write("train.py", "x = 1\n")
    wheels = "pvc://wheels/linux"
    return CustomTrainer("train.py", packages=["six==1.17.0"], wheel_house=wheels).pack().code


def attached(code: Code, runtime: str, cache: str | None) -> tuple[Any, Any]:
    """spec and ConfigMap of a job."""
    job = {"metadata": {"name": "tj", "namespace": "team"}, "spec": {}}
    made, (config_map,) = code_mount.attach_code(job, catalog.get(runtime), code, cache=cache)
    return made["spec"], config_map


@pytest.mark.parametrize(
    ("runtime", "before", "after"),
    [
        ("plain-distributed", (), ("python",)),
        ("torch-distributed", (), ("torchrun",)),
        ("deepspeed-distributed", ("mpirun",), ("python",)),
    ],
)
def test_the_step_goes_before_what_starts_on_each_node(
    code: Code, runtime: str, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    spec, _ = attached(code, runtime, "")
    assert spec["trainer"]["command"] == [*INIT, *before, *STEP, *after, MAIN]
    spec, _ = attached(code, runtime, None)
    assert spec["trainer"]["command"] == [*INIT, *before, *after, MAIN], "the target installs"
    in_image = replace(code, files={**code.files, "packages.py": ""}, image_has_packages=True)
    assert in_image.to_wire()["imageHasPackages"] is True


def pod_of(spec: Any) -> Any:
    (patch,) = spec["runtimePatches"]
    job = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]
    return job["template"]["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("cache", "volume", "below"),
    [
        ("", {"emptyDir": {}}, {}),
        ("/cache/", {"hostPath": {"path": "/cache/team", "type": "DirectoryOrCreate"}}, {}),
        (
            "pvc://own/a/b",
            {"persistentVolumeClaim": {"claimName": "own"}},
            {"subPath": "a/b"},
        ),
    ],
)
def test_the_cache_is_a_folder_of_the_pod_of_the_namespace_or_of_a_claim(
    code: Code, cache: str, volume: dict[str, Any], below: dict[str, Any]
) -> None:
    spec, _ = attached(code, "torch-distributed", cache)
    pod = pod_of(spec)
    name = "trainer-infra-packages"
    assert {"name": name, **volume} in pod["volumes"]
    mount = {"name": name, "mountPath": "/opt/trainer-infra/packages", **below}
    assert mount in pod["containers"][0]["volumeMounts"]


def test_wheels_of_a_claim_are_mounted_for_reading(code: Code) -> None:
    spec, config_map = attached(code, "torch-distributed", "")
    pod = pod_of(spec)
    name = "trainer-infra-wheels"
    assert {"name": name, "persistentVolumeClaim": {"claimName": "wheels"}} in pod["volumes"]
    assert {
        "name": name,
        "mountPath": "/opt/trainer-infra/wheels",
        "subPath": "linux",
        "readOnly": True,
    } in pod["containers"][0]["volumeMounts"]
    assert config_map["data"]["packages.txt"] == (
        "--no-index\n--find-links=/opt/trainer-infra/wheels\nsix==1.17.0\n"
    )


def composed(code: Code, runtime: ClusterTrainingRuntime, cache: str | None) -> tuple[str, ...]:
    job = {
        "metadata": {"name": "tj", "namespace": "team"},
        "spec": {"runtimeRef": {"name": runtime.metadata.name}},
    }
    return compose.compose(job, runtime, code, (), replace(OURS, package_cache=cache)).warnings


def test_pods_that_install_at_each_start_are_a_warning(code: Code) -> None:
    runtime = catalog.get("torch-distributed")
    assert isinstance(runtime, ClusterTrainingRuntime)
    assert composed(code, runtime, "") == (f"TrainJob tj: {compose.NO_CACHE}",)
    assert composed(code, runtime, "/cache") == composed(code, runtime, None) == ()


def test_an_image_that_has_the_packages_installs_none_and_is_another_run(write: Write) -> None:
    write("train.py", "x = 1\n")
    given = {"packages": ["six==1.17.0"]}
    installing, without = (
        CustomTrainer("train.py", **given, image_has_packages=each).pack().code  # type: ignore[arg-type]  # as a user writes it
        for each in (False, True)
    )
    spec, config_map = attached(without, "torch-distributed", "")
    assert spec["trainer"]["command"] == [*INIT, "torchrun", MAIN]
    assert not {"packages.py", "packages.txt"} & config_map["data"].keys()
    assert Code.from_wire(without.to_wire()) == without
    assert installing.of_the_user() != without.of_the_user()


def test_pods_install_what_their_image_does_not_have(write: Write) -> None:
    write("train.py", "x = 1\n")
    packages = ["Torch==2.15.0", "trl[peft]==1.16.0", "torch-geometric==2.8.0"]
    made = CustomTrainer("train.py", packages=packages, image_has_packages=["torch"]).pack().code
    assert made.image_has_packages == ("Torch==2.15.0",)
    _, config_map = attached(made, "torch-distributed", "")
    assert config_map["data"]["packages.txt"] == "torch-geometric==2.8.0\ntrl[peft]==1.16.0\n"
    assert made.packages == tuple(sorted(packages)), "this machine installs them all"
    assert Code.from_wire(json.loads(json.dumps(made.to_wire()))) == made
    every = ["torch", "TRL", "torch.geometric"]
    made = CustomTrainer("train.py", packages=packages, image_has_packages=every).pack().code
    assert made.image_has_packages is True


def test_a_package_of_the_image_is_one_of_the_packages(write: Write) -> None:
    write("train.py", "x = 1\n")
    made = CustomTrainer(
        "train.py",
        packages=["torch==2.15.0"],
        image_has_packages=["pytorch", 1],  # type: ignore[list-item]  # wrong on purpose
    )
    with pytest.raises(InvalidInput) as refused:
        made.pack()
    assert [str(each) for each in refused.value.problems] == [
        "image_has_packages[0]: is not a name in packages, got 'pytorch'; name some of torch",
        "image_has_packages[1]: is not a name in packages, got 1; name some of torch",
    ]


def test_a_new_release_and_another_place_are_the_same_work(code: Code) -> None:
    newer = replace(
        code,
        files={
            **code.files,
            package_mounts.INSTALLING: "new",
            "lib/trainer_infra/in_pod/package_cache.py": "new",
        },
    )
    assert code.of_the_user() == newer.of_the_user()
    elsewhere = replace(code, packages_at="/cache")
    assert Code.from_wire(elsewhere.to_wire()) == elsewhere
    assert code.of_the_user() == elsewhere.of_the_user()
    other = replace(code, packages=("six==1.16.0",))
    assert code.of_the_user() != other.of_the_user()


def test_code_that_is_born_without_the_step_is_the_same_work(code: Code) -> None:
    born = replace(
        code, files={path: each for path, each in code.files.items() if "packag" not in path}
    )
    assert born.of_the_user() == code.of_the_user()


def test_a_lock_that_no_config_map_holds_is_said(write: Write) -> None:
    write("train.py", "x = 1\n")
    digest = "0" * 64
    many = "\n".join(f"p{index}==1 --hash=sha256:{digest}" for index in range(12_000))
    write("requirements.lock", many)
    with pytest.raises(Exception, match=r"over a ConfigMap's limit of .*packages\.txt"):
        CustomTrainer("train.py", packages=Path("requirements.lock")).pack()
