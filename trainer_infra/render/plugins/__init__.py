"""The registry: every plugin, in run order."""

from typing import Final

from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import (
    checkpoint,
    coscheduling,
    flux,
    jax,
    jobset,
    kai,
    kueue,
    mpi,
    plain,
    stored_code,
    torch,
    volcano,
    xgboost,
    yunikorn,
)

PLUGINS: Final[tuple[Plugin, ...]] = (
    torch.PLUGIN,
    jax.PLUGIN,
    xgboost.PLUGIN,
    mpi.PLUGIN,
    flux.PLUGIN,
    plain.PLUGIN,
    coscheduling.PLUGIN,
    volcano.PLUGIN,
    kai.PLUGIN,
    yunikorn.PLUGIN,
    kueue.PLUGIN,
    stored_code.PLUGIN,
    checkpoint.PLUGIN,
    jobset.PLUGIN,
)
