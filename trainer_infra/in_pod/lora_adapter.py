"""LoRA adapters of a library's program: the one that it begins with, and what becomes of the one that it trains.

The program saw the base where an initializer put it, a folder that goes with the run. Needs peft
and transformers where it merges, and keeps to the syntax of Python 3.9.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trainer_infra.in_pod.storage import mounted, with_outputs

MODEL_URI = "TRAINER_INFRA_MODEL_URI"
"""Variable with the address that the initializer of the model fetched."""
FOLDER = "adapter"
"""Below the merged model, where the adapter itself is."""
CONFIGURATION = "adapter_config.json"
BASE = "base_model_name_or_path"
"""Of a configuration: the model that the adapter is for."""
SEQUENCE_CLASSIFICATION = "SEQ_CLS"
"""PEFT's word for what a reward model does."""
CLAIM = "pvc://"
CLAIMS = "/opt/trainer-infra/claims"
"""Where claims are mounted."""
BEGUN_WITH = "model-with-adapter-"
"""What the folder of the model that the program trains begins with, where that begins with an adapter."""
LOCAL_RUN = "TRAINER_INFRA_PROCESS"
"""Variable of a run on this machine, whose working directory goes with it; a pod's temporary folder does."""


def with_adapter(words: Iterable[str], adapter: str, option: str) -> list[str]:
    """The program's arguments, with a model that has the adapter in its weights in place of the one in `option`.

    The adapter is a folder, a path in a volume claim, or a name on the Hub. Each machine merges once: its
    other processes wait for the one that does.

    Raises:
        FileNotFoundError: There is no adapter.
    """
    listed, mark = list(words), f"{option}="
    at = next(index for index, word in enumerate(listed) if word.startswith(mark))
    base = listed[at][len(mark) :]
    run = os.environ.get(LOCAL_RUN) or ""
    # A folder for temporary files, or a working directory, may be one that several pods mount.
    whose = hashlib.sha256(f"{run} {socket.gethostname()} {adapter} {base}".encode())
    place = Path.cwd() if run else Path(tempfile.gettempdir())
    place /= BEGUN_WITH + whose.hexdigest()[:12]
    with open(f"{place}.lock", "w", encoding="utf-8") as held:  # noqa: PTH123  as `main` does
        fcntl.flock(held, fcntl.LOCK_EX)
        if not place.exists():
            merge_into(place, folder_of(adapter), base)
    listed[at] = mark + str(place)
    return listed


def folder_of(adapter: str) -> Path:
    """Where the files of an adapter are, which the Hub may have to send."""
    if adapter.startswith(CLAIM):
        adapter = mounted(f"{CLAIMS}/{adapter[len(CLAIM) :]}")
    folder = Path(mounted(adapter))
    if (folder / CONFIGURATION).is_file():
        return folder
    if folder.is_absolute():
        raise FileNotFoundError(f"there is no LoRA adapter in {folder}: it has no {CONFIGURATION}")
    from huggingface_hub import snapshot_download  # noqa: PLC0415  the library's image has it

    return Path(snapshot_download(adapter))


def merge_into(place: Path, adapter: Path, base: str) -> None:
    """Write the model of a folder or the Hub with an adapter in its weights; whole, or not at all."""
    part = Path(f"{place}.part")
    shutil.rmtree(part, ignore_errors=True)
    copied = shutil.copytree(adapter, part / FOLDER)
    name_base(copied / CONFIGURATION, base)
    merge_adapter(copied)
    shutil.rmtree(copied)
    part.rename(place)


def finish(output: str, *, merge: bool) -> None:
    """Merge the adapter at `output` into the folder above, where asked, and name its base by the address it is from.

    Of several processes the first of the world does it, which is the one that wrote the adapter.

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
        base = str(configuration_of(file).get(BASE) or "")
        if Path(base).name.startswith(BEGUN_WITH):
            # Of a model that goes with the run, and that no address has.
            shutil.rmtree(adapter)
        else:
            name_base(file, base_name(base))


def configuration_of(file: Path) -> dict[str, Any]:
    """What the configuration of an adapter has."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def name_base(file: Path, base: str) -> None:
    """Have an adapter's configuration name this model."""
    written = {**configuration_of(file), BASE: base}
    file.write_text(json.dumps(written, indent=2), encoding="utf-8")


def merge_adapter(adapter: Path) -> None:
    """Write the model with the adapter in its weights into the folder above, with its tokenizer."""
    from peft import (  # noqa: PLC0415  the library's image has it
        AutoPeftModelForCausalLM,
        AutoPeftModelForSequenceClassification,
    )
    from transformers import AutoTokenizer  # noqa: PLC0415  the same

    configuration = configuration_of(adapter / CONFIGURATION)
    kind, more = AutoPeftModelForCausalLM, {}
    if configuration.get("task_type") == SEQUENCE_CLASSIFICATION:
        kind, more = AutoPeftModelForSequenceClassification, {"num_labels": 1}
    sys.stdout.write(f"merging the adapter into {configuration[BASE]}\n")
    sys.stdout.flush()
    model: Any = kind.from_pretrained(str(adapter), torch_dtype="auto", **more)
    model.merge_and_unload().save_pretrained(str(adapter.parent))
    # PEFT alone keeps none beside an adapter.
    has_own = (adapter / "tokenizer_config.json").is_file()
    tokenizer = str(adapter) if has_own else configuration[BASE]
    AutoTokenizer.from_pretrained(tokenizer).save_pretrained(str(adapter.parent))


def base_name(base: str) -> str:
    """What others can load the base by: itself, or where the initializer fetched it from."""
    uri = os.environ.get(MODEL_URI) or ""
    if not uri or not Path(base).is_dir():
        return base
    for scheme in ("hf://", "file://"):
        if uri.startswith(scheme):
            return uri[len(scheme) :]
    return uri
