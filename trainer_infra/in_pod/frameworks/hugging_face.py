"""transformers' TrainingArguments, made of the trainer's options. Needs transformers."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trainer_infra.in_pod.storage import with_outputs


@contextmanager
def prepared(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`arguments`, for `transformers.Trainer` and those that inherit it."""
    import transformers  # noqa: PLC0415  only this framework has it

    from trainer_infra.in_pod.callbacks.hugging_face import (  # noqa: PLC0415  the same
        report_every_trainer,
    )

    folder = with_outputs(settings["output"])
    report_every_trainer()
    arguments = transformers.TrainingArguments(output_dir=folder, **settings["options"])
    yield {"arguments": arguments}
