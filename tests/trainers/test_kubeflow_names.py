"""The names that the kubeflow SDK's CustomTrainer has: code moves here without renaming."""

from tests.trainers.conftest import Load, Problems
from trainer_infra import CustomTrainer

ANY = "def train(**given): pass\n"


def test_kubeflows_names_mean_what_ours_mean(module: Load) -> None:
    function = module(ANY).train
    urls = ["https://example.com/simple", "https://example.org/simple"]
    theirs = CustomTrainer(
        func=function,
        func_args={"rate": 0.1},
        image="example.com/image",
        packages_to_install=["six==1.17.0"],
        pip_index_urls=urls,
        num_nodes=2,
        resources_per_node={"cpu": 1},
        env={"A": "1"},
    )
    ours = CustomTrainer(
        function,
        func_args={"rate": 0.1},
        image="example.com/image",
        packages=["six==1.17.0"],
        pip_index_urls=urls,
        num_nodes=2,
        resources_per_node={"cpu": 1},
        env={"A": "1"},
    )
    assert theirs.pack() == ours.pack()


def test_both_names_of_one_field_are_refused(module: Load, problems: Problems) -> None:
    function = module(ANY).train
    both = CustomTrainer(
        function, func=function, packages=["six==1.17.0"], packages_to_install=["six==1.17.0"]
    )
    assert problems(both) == [
        "func: is the same as train, and both are given; keep one of them",
        "packages_to_install: is the same as packages, and both are given; keep one of them",
    ]


def test_what_is_wrong_has_the_name_that_was_written(problems: Problems) -> None:
    trainer = CustomTrainer(func=3, packages_to_install=["torch"])  # type: ignore[arg-type]  # wrong on purpose
    assert [each.partition(":")[0] for each in problems(trainer)] == [
        "func",
        "packages_to_install[0]",
    ]
    neither = problems(CustomTrainer())
    assert neither == [
        'train: is missing; give a function, "train.py", "train.py:function" or "folder:main.py"'
    ]
