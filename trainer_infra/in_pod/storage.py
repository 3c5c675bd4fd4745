"""Where a training program finds its files: outputs that are kept, and volumes that are mounted.

CustomTrainer ships this file to images that lack the package.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

OUTPUT = "TRAINER_INFRA_OUTPUT_"
MOUNTS = "TRAINER_INFRA_MOUNTS"
MARK = "TRAINER_INFRA_REPORT"
SERVER = "KUBEFLOW_TRAINER_SERVER_URL"
BY_HAND = "outputs"


def output(name: str) -> str:
    """Where an output of this run is kept: a folder that is there, or a URI to write to.

    A program that is started by hand, outside of a run, gets the folder `outputs/NAME`.

    Args:
        name: as in `outputs=` of the TrainJob.

    Raises:
        LookupError: This run has no output of that name.
    """
    variable = OUTPUT + name.upper().replace("-", "_")
    found = os.environ.get(variable)
    if found is None and (os.environ.get(SERVER) or os.environ.get(MARK)):
        known = sorted(
            each[len(OUTPUT) :].lower() for each in os.environ if each.startswith(OUTPUT)
        )
        listed = f"it has {', '.join(known)}" if known else "it has none"
        message = f"this run has no output {name!r}, {listed}; name it in outputs= of the TrainJob"
        raise LookupError(message)
    found = found or f"{BY_HAND}/{name}"
    if "://" not in found:
        Path(found).mkdir(parents=True, exist_ok=True)
    return found


def with_outputs(text: str) -> str:
    """A text in which `output://NAME` is where `output` says that it is kept."""
    return re.sub("output://([-a-z0-9]+)", lambda found: output(found[1]), text)


def mounted(path: str) -> str:
    """Where a path at or below a volume's mountPath is, such as `/data/train.csv`: itself in a pod.

    The local target cannot mount without privileges, so a volume is a folder somewhere else.
    """
    folders: dict[str, str] = json.loads(os.environ.get(MOUNTS) or "{}")
    for mount in sorted(folders, key=len, reverse=True):
        if path == mount or path.startswith(mount + "/"):
            return folders[mount] + path[len(mount) :]
    return path
