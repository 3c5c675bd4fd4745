"""JAXJob (kubeflow.org/v1) to nodes of a jax runtime.

Worker 0 is node 0, the coordinator. Programs of v1 pass COORDINATOR_ADDRESS, NUM_PROCESSES and
PROCESS_ID to `jax.distributed.initialize` themselves: those are written into the runtime, beside
the JAX variables that v2's plugin writes.
"""

from typing import Final

from trainer_infra import names
from trainer_infra.migrate import nodes, replica
from trainer_infra.migrate.migration import Parts, V1Job
from trainer_infra.migrate.replica import RANK_ENV, Defaults

DEFAULTS: Final = Defaults("jaxReplicaSpecs", "jax")
PORT_NAME: Final = "jaxjob-port"
PORT: Final = 6666
FILLED: Final = (names.JAX_NUM_PROCESSES, names.JAX_PROCESS_ID, names.JAX_COORDINATOR_ADDRESS)


def jax_parts(job: V1Job) -> Parts:
    """What a JAXJob becomes.

    Raises:
        InvalidInput: It has no replicas, or containers that cannot be told apart.
    """
    found = nodes.read_nodes(job, DEFAULTS, "Worker")
    env = {
        "PYTHONUNBUFFERED": 1,
        "COORDINATOR_PORT": found.kept.port(PORT_NAME, PORT),
        "COORDINATOR_ADDRESS": job.host(),
        "NUM_PROCESSES": found.count,
        "PROCESS_ID": RANK_ENV,
    }
    framework = nodes.Framework("jax", env, replica.filled(FILLED))
    told = nodes.fixed_parts(job, DEFAULTS, f"NUM_PROCESSES={found.count}")
    return nodes.node_parts(job, found, framework, trainer={}, notes=[told])
