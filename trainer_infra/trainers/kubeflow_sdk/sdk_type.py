"""Which type of the `kubeflow` SDK a value is of; the SDK itself is not imported for it.

The protocols are for type checkers, which need no SDK either. Pure.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

PACKAGE: Final = "kubeflow.trainer."
"""What the names of the modules of its types begin with."""


class FunctionTrainer(Protocol):
    """Its CustomTrainer."""

    func: Callable[..., Any]
    """The function."""
    packages_to_install: Any
    """What pods install."""


class ImageTrainer(Protocol):
    """Its CustomTrainerContainer."""

    image: Any
    """The image."""
    resources_per_node: Any
    """Amounts of a pod."""


class ConfiguredTrainer(Protocol):
    """Its BuiltinTrainer."""

    config: Any
    """A TorchTuneConfig."""


class SdkInitializer(Protocol):
    """Its Initializer."""

    dataset: Any
    """What fetches a dataset."""
    model: Any
    """What fetches a model."""


class SdkRuntime(Protocol):
    """Its Runtime, as `TrainerClient` returns it."""

    name: str
    """The runtime's name."""
    trainer: Any
    """What it says of its trainer."""


SdkTrainer: TypeAlias = FunctionTrainer | ImageTrainer | ConfiguredTrainer
"""Its trainers."""
SdkOption: TypeAlias = Callable[[dict[str, Any], Any, Any], object]
"""Its options, and functions of users that change a TrainJob as they do."""


def sdk_type(value: object) -> str:
    """The name of the SDK's type that a value is of, or of which its own is a subclass; else empty."""
    kinds = (each for each in type(value).__mro__ if each.__module__.startswith(PACKAGE))
    return next((each.__name__ for each in kinds), "")
