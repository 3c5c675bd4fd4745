"""How many threads number libraries start: as many as the container asked for processors.

Pure. Called by `pod_setup` for each container. Without it each of them starts one for every processor
of the machine, and containers that asked for one each hinder one another. torchrun's rule, one
thread for each of several processes, comes out of it where there are as many as processors.
"""

from collections.abc import Mapping
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.render import resources

VARIABLES: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Read by OpenMP (PyTorch, XGBoost, LightGBM, scikit-learn) and by the libraries below NumPy."""
PROCESSES: Final = "PET_NPROC_PER_NODE"
"""torchrun's number of processes, or a word such as `auto`, for which torchrun sets threads itself."""


def thread_variables(container: JSONObject, own: Mapping[str, str]) -> dict[str, str]:
    """The variables that limit threads; none where the container asks for no processors, or sets one.

    Args:
        container: its request counts, else its limit.
        own: the variables that it defines.
    """
    processes = own.get(PROCESSES, "1")
    if any(name in own for name in VARIABLES) or not processes.isdecimal():
        return {}
    processors = resources.cpus(container.get("resources") or {})
    if not processors:
        return {}
    return dict.fromkeys(VARIABLES, str(max(1, processors // max(1, int(processes)))))
