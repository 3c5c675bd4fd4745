"""What tests and measurements on a cluster need beside it, made ahead of them and kept in the cache.

`python -m from_source.cluster.equipment image` makes the named parts; without a name all that `make e2e` needs,
which leaves out what only one stack needs and `make soak` names. They are made at once: one compiles
while another downloads.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from from_source.cluster import (
    base_image,
    build,
    controller_image,
    coscheduling,
    helm,
    initializer_image,
    kueue,
    kwok,
    lws,
    package_image,
    prometheus,
    published_image,
    python,
    trainer,
    volcano,
)
from trainer_infra.errors import NotAvailable

PARTS: Final[Mapping[str, Callable[[], object]]] = {
    "image": base_image.archive,
    "published": published_image.archive,
    "packages": lambda: [python.environment(name) for name in python.ENVIRONMENTS],
    "helm": helm.program,
    "kueue": kueue.archive,
    "kwok": partial(build.built, kwok.KWOK),
    "controller": partial(package_image.archive, controller_image.IMAGE),
    "initializer": partial(package_image.archive, initializer_image.IMAGE),
}
"""What `make e2e` needs."""
SOAK: Final[Mapping[str, Callable[[], object]]] = {
    "coscheduling": coscheduling.archives,
    "lws": lws.archive,
    "prometheus": prometheus.program,
    "trainer": trainer.archive,
    "trainer-before": trainer.archive_before,
    "volcano": volcano.archives,
}
"""What `make soak` needs besides."""


def main(wanted: Sequence[str]) -> int:
    """Make what is missing of them; the exit code."""
    with ThreadPoolExecutor() as pool:
        made = {name: pool.submit({**PARTS, **SOAK}[name]) for name in wanted or PARTS}
    code = 0
    for name, each in made.items():
        try:
            print(f"{name}: {each.result()}")
        except NotAvailable as error:
            print(f"{name}: {error}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
