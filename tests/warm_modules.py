"""What programs of the tests import, imported once: see `warm_start`.

Not what reads its environment while it is imported: that would be the environment of the tests.
"""

import gc
import importlib
import os
import pkgutil

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

IN_PODS = "trainer_infra.in_pod.initializers"
READS_ITS_ENVIRONMENT = f"{IN_PODS}.sources.hf"

importlib.import_module("tests.warm_start")
importlib.import_module("tests.engine.command")
importlib.import_module(f"{IN_PODS}.__main__")
for name in (
    "trainer_infra.cli",
    "trainer_infra.deploy",
    "trainer_infra.deploy.operations",
    f"{IN_PODS}.sources",
):
    package = importlib.import_module(name)
    for each in pkgutil.iter_modules(package.__path__, f"{name}."):
        if each.name != READS_ITS_ENVIRONMENT:
            importlib.import_module(each.name)

# What is here stays: a child would copy each page that it is counted in.
gc.collect()
gc.freeze()
