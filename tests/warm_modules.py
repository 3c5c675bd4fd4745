"""What programs of the tests import, imported once: see `warm_start`."""

import gc
import importlib
import os
import pkgutil

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import tests.engine.command  # noqa: F401  for those that fork
import trainer_infra.cli
import trainer_infra.deploy.operations

for package in (trainer_infra.cli, trainer_infra.deploy, trainer_infra.deploy.operations):
    for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(each.name)

# What is here stays: a child would copy each page that it is counted in.
gc.collect()
gc.freeze()
