"""What becomes of a LoRA adapter that a library's program has trained: merged, and of a base that can be found.

Called by `main` once the program has ended. The program saw the base where an initializer put it, a folder that goes
with the run. Needs peft and transformers where it merges, and keeps to the syntax of Python 3.9.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from trainer_infra.in_pod.storage import with_outputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODEL_URI = "TRAINER_INFRA_MODEL_URI"
"""Variable with the address that the initializer of the model fetched."""
FOLDER = "adapter"
"""Below the merged model, where the adapter itself is."""
CONFIGURATION = "adapter_config.json"
SEQUENCE_CLASSIFICATION = "SEQ_CLS"
"""PEFT's word for what a reward model does."""


def finish(output: str, *, merge: bool) -> None:
    """Merge the adapter where that is asked for, and name its base by the address that it is from.

    Of several processes the first of the world does it, which is the one that wrote the adapter.

    Args:
        output: where the program wrote the adapter, perhaps an output of the run.
        merge: whether the merged model is to be in the folder above.

    Raises:
        FileNotFoundError: There is no adapter to merge.
    """
    if os.environ.get("RANK", "0") != "0":
        return
    adapter = Path(with_outputs(output))
    file = adapter / CONFIGURATION
    if merge:
        merge_adapter(adapter)
    if file.is_file():
        configuration = json.loads(file.read_text(encoding="utf-8"))
        base = base_name(str(configuration.get("base_model_name_or_path") or ""))
        written = {**configuration, "base_model_name_or_path": base}
        file.write_text(json.dumps(written, indent=2), encoding="utf-8")


def merge_adapter(adapter: Path) -> None:
    """Write the model with the adapter in its weights into the folder above, with its tokenizer."""
    from peft import (  # noqa: PLC0415  the library's image has it
        AutoPeftModelForCausalLM,
        AutoPeftModelForSequenceClassification,
    )
    from transformers import AutoTokenizer  # noqa: PLC0415  the same

    configuration = json.loads((adapter / CONFIGURATION).read_text(encoding="utf-8"))
    kind, more = AutoPeftModelForCausalLM, {}
    if configuration.get("task_type") == SEQUENCE_CLASSIFICATION:
        kind, more = AutoPeftModelForSequenceClassification, {"num_labels": 1}
    sys.stdout.write(f"merging the adapter into {configuration['base_model_name_or_path']}\n")
    sys.stdout.flush()
    model: Any = kind.from_pretrained(str(adapter), torch_dtype="auto", **more)
    model.merge_and_unload().save_pretrained(str(adapter.parent))
    AutoTokenizer.from_pretrained(str(adapter)).save_pretrained(str(adapter.parent))


def base_name(base: str) -> str:
    """What others can load the base by: itself, or where the initializer fetched it from."""
    uri = os.environ.get(MODEL_URI) or ""
    if not uri or not Path(base).is_dir():
        return base
    for scheme in ("hf://", "file://"):
        if uri.startswith(scheme):
            return uri[len(scheme) :]
    return uri
