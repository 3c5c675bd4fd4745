"""What an image would start, for the images that this machine can stand in for: the initializers.

Ours and the reference's images fetch the same (reference behaviour 7.1). Pure.
"""

import sys
from collections.abc import Sequence

from trainer_infra import names
from trainer_infra.catalog.initializers import ROLES
from trainer_infra.in_pod import initializers
from trainer_infra.json_values import JSONObject


def image_entrypoint(container: JSONObject) -> Sequence[str]:
    """The command of an initializer's image, run by our own Python; empty for any other container."""
    name = str(container["name"])
    role = "code" if name == names.CODE_INITIALIZER else ROLES.get(name)
    if role is None:
        return ()
    told = () if container.get("args") else (role,)
    return (sys.executable, "-m", initializers.__name__, *told)
