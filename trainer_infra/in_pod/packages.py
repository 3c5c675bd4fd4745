"""Gives a job's command its packages inside a training pod, and then becomes that command.

`custom_trainer` ships this text as `packages.py` of the code mount, with `package_cache` and
`package_installation` below the folder `lib`, and `code_mount` puts it before the framework's launcher.
"""

from __future__ import annotations

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  pathlib starts slowly

if __name__ == "__main__":
    # Those of the release that rendered the job, whatever the image has.
    sys.path.insert(0, os.path.join(HERE, "lib"))  # noqa: PTH118  the same
    from trainer_infra.in_pod import package_cache

    package_cache.main(HERE, sys.argv[1:])
