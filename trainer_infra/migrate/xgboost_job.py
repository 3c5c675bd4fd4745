"""XGBoostJob (kubeflow.org/v1) to nodes of an xgboost runtime.

The master is node 0. Programs of v1 start their own tracker from MASTER_ADDR, WORLD_SIZE and RANK,
LightGBM's find their workers in WORKER_ADDRS: those are written into the runtime, beside the DMLC
variables that v2's plugin writes.
"""

from typing import Any, Final

from trainer_infra.migrate import nodes, replica
from trainer_infra.migrate.migration import Parts, V1Job
from trainer_infra.migrate.replica import RANK_ENV, Defaults
from trainer_infra.render.plugins.xgboost import RESERVED

DEFAULTS: Final = Defaults("xgbReplicaSpecs", "xgboost")
PORT_NAME: Final = "xgboostjob-port"
PORT: Final = 9999


def xgboost_parts(job: V1Job) -> Parts:
    """What an XGBoostJob becomes.

    Raises:
        InvalidInput: It has no replicas, or containers that cannot be told apart.
    """
    found = nodes.read_nodes(job, DEFAULTS, "Master", "Worker")
    port = found.kept.port(PORT_NAME, PORT)
    env: dict[str, Any] = {
        "MASTER_PORT": port,
        "MASTER_ADDR": job.host(),
        "WORLD_SIZE": found.count,
        "RANK": RANK_ENV,
        "PYTHONUNBUFFERED": 1,
    }
    if found.count > 1:
        hosts = ",".join(job.host(index) for index in range(1, found.count))
        env |= {"WORKER_PORT": port, "WORKER_ADDRS": hosts}
    framework = nodes.Framework("xgboost", env, replica.filled(RESERVED))
    told = nodes.fixed_parts(job, DEFAULTS, f"WORLD_SIZE={found.count}")
    return nodes.node_parts(job, found, framework, trainer={}, notes=[told])
