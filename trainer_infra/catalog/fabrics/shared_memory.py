"""Room for NCCL's processes to talk within a pod: a container runtime gives 64 MiB."""

from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject

VOLUME: Final[JSONObject] = {"name": "fabric-shared-memory", "emptyDir": {"medium": "Memory"}}
MOUNT: Final[JSONObject] = {"name": "fabric-shared-memory", "mountPath": names.SHARED_MEMORY}
