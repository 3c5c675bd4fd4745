"""What programs of the tests import, imported once: see `warm_start`."""

import gc
import importlib
import os
import pkgutil

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import trainer_infra.cli

for each in pkgutil.iter_modules(trainer_infra.cli.__path__, "trainer_infra.cli."):
    importlib.import_module(each.name)

# What is here stays: a child would copy each page that it is counted in.
gc.collect()
gc.freeze()
