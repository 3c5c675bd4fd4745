"""The registry: every plugin, in run order."""

from typing import Final

from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import jax, jobset, plain, torch

PLUGINS: Final[tuple[Plugin, ...]] = (
    torch.PLUGIN,
    jax.PLUGIN,
    plain.PLUGIN,
    jobset.PLUGIN,
)
