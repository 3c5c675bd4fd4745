"""Off line: every custom resource that a component declares is what the pinned CRDs say, field by field."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.platform import crd_schemas
from tests.platform.declared_resources import declared_objects
from tests.platform.pools.program import POOLS, all_pools
from tests.platform.queues.program import all_queues
from tests.platform.test_stack_files import FILES, stack_file
from tests.platform.workspaces.program import all_workspaces
from trainer_infra import platform
from trainer_infra.json_values import JSONObject

pytestmark = pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")

PROGRAMS: dict[str, Callable[[], object]] = {
    "pools": all_pools,
    "queues": all_queues,
    "runtimes": lambda: platform.RuntimeCatalog("runtimes", versioned=["torch-distributed"]),
    "workspaces": all_workspaces,
    **{file.name.split(".")[1]: partial(stack_file, file) for file in FILES},
}
KINDS = {
    "pools": {"MachineDeployment", "MachinePool", "NodePool", "ResourceFlavor", "Topology"},
    "queues": {"AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster",
               "MultiKueueConfig", "ProvisioningRequestConfig", "Queue", "ResourceFlavor", "Topology",
               "WorkloadPriorityClass"},
    "runtimes": {"ClusterTrainingRuntime"},
    "workspaces": {"ClusterQueue", "LocalQueue"},
}  # fmt: skip
"""Of the programs that have one of each."""


def custom_resources(program: Callable[[], object]) -> list[JSONObject]:
    return [each for each in declared_objects(program).values() if crd_schemas.is_known(each)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_declared_fits_the_pinned_schemas(name: str) -> None:
    made = custom_resources(PROGRAMS[name])
    assert {each["kind"] for each in made} >= KINDS.get(name, {"ClusterTrainingRuntime"})
    found = {f"{each['kind']} {each['metadata']['name']}": crd_schemas.problems(each)
             for each in made}  # fmt: skip
    assert {name: said for name, said in found.items() if said} == {}


MISTAKES = {
    "maxNode": (3, "$.spec: Additional properties are not allowed ('maxNode' was unexpected)"),
    "weight": ("ten", "$.spec.weight: 'ten' is not of type 'integer'"),
}


@pytest.mark.parametrize("field", MISTAKES)
def test_a_field_that_the_schema_does_not_have_is_found(field: str) -> None:
    pools = custom_resources(partial(platform.GpuNodePool, "own", **POOLS["karpenter-own"]))
    (pool,) = (each for each in pools if each["kind"] == "NodePool")
    value, problem = MISTAKES[field]
    assert list(crd_schemas.problems({**pool, "spec": {**pool["spec"], field: value}})) == [problem]
