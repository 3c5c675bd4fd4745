"""Number libraries start as many threads as a container asked for processors."""

from typing import Any

import pytest

from tests.local.jobs import Job, finished, lines, python
from trainer_infra.local import pod_setup

SHOW = (
    "import os; print(*sorted(f'{k}={v}' for k, v in os.environ.items() if '_NUM_THREADS' in k), "
    "os.environ.get('VECLIB_MAXIMUM_THREADS'))"
)


def limited(own: dict[str, str] | None = None, **resources: Any) -> set[str]:
    return set(
        pod_setup.thread_variables({"name": "c", "resources": resources}, own or {}).values()
    )


@pytest.mark.parametrize(
    ("resources", "processes", "limit"),
    [
        ({}, "1", set()),
        ({"requests": {"memory": "1Gi"}}, "1", set()),
        ({"requests": {"cpu": "1500m"}}, "1", {"2"}),
        ({"requests": {"cpu": 1}, "limits": {"cpu": 8}}, "1", {"1"}),
        ({"limits": {"cpu": "8"}}, "1", {"8"}),
        ({"limits": {"cpu": "8"}}, "3", {"2"}),
        ({"limits": {"cpu": "100m"}}, "4", {"1"}),
        ({"limits": {"cpu": "8"}}, "auto", set()),
    ],
)
def test_threads_are_the_processors_by_the_processes(
    resources: dict[str, Any], processes: str, limit: set[str]
) -> None:
    assert limited({pod_setup.PROCESSES: processes}, **resources) == limit


def test_a_program_that_sets_one_sets_all() -> None:
    assert limited({"MKL_NUM_THREADS": "7"}, limits={"cpu": 2}) == set()


def test_a_process_has_them() -> None:
    resources = {"requests": {"cpu": 2}}
    trainer = {"command": python(SHOW), "resourcesPerNode": resources}
    run = finished(Job(policy="jax", spec={"trainer": trainer}).submit())
    assert lines(run) == [
        "MKL_NUM_THREADS=2 NUMEXPR_NUM_THREADS=2 OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 2"
    ]
