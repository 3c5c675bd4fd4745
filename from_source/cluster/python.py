"""Python packages of the frameworks, for pods of the tests: a folder each, mounted from the host.

They would make images of gigabytes; a folder below the cache, mounted and put on PYTHONPATH, serves
every pod at once. What is installed is for the Python of base_image.py unless a test asks for
another. A folder appears whole or not at all.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from from_source.cluster import build
from trainer_infra.errors import NotAvailable
from trainer_infra.local import installer, pip_settings

PYTHON: Final = "3.11"
"""Of the image."""

QUIET: Final = ("--disable-pip-version-check", "--no-input", "--progress-bar=off")
"""Options of pip where nobody reads along."""

_DIGITS: Final = "scikit-learn==1.9.1"
"""Ships the data that all of them train on."""


@dataclass(frozen=True, slots=True)
class Packages:
    """What one folder holds."""

    requirements: tuple[str, ...]
    """Pinned, as pip and uv take them; perhaps options of both too."""
    removed: tuple[str, ...] = ()
    """Patterns of paths that a machine without GPUs never reads."""


ENVIRONMENTS: Final = {
    "jax": Packages(("jax[cpu]==0.10.2", _DIGITS)),
    "mlx": Packages(("mlx[cpu]==0.32.4", "numpy==2.4.6", _DIGITS)),
    # What a user of the SDK has installed: none of ours is beside it.
    "kubeflow": Packages(("kubeflow==0.5.0", "kubeflow-trainer-api==2.3.0", "kubernetes==35.0.0")),
    "mpi": Packages(("mpi4py==4.1.2", "numpy==2.4.6", _DIGITS)),
    "torch": Packages(
        ("torch==2.15.0", "numpy==2.4.6", _DIGITS),
        # PyPI's torch is linked against CUDA: what it loads must stay, the rest is half of it.
        removed=(
            "triton",
            "nvidia/*/include",
            "nvidia/cu*/lib/libcusolverMg.so*",
            "nvidia/cu*/lib/libnvperf_*.so*",
            "nvidia/cudnn/lib/libcudnn_*.so*",
            "torch/include",
        ),
    ),
    # Goes on PYTHONPATH before the folder `torch`: with dependencies it would hold a second torch.
    "trainers": Packages(
        (
            "--no-deps",
            *("transformers==5.24.0", "accelerate==1.15.0", "lightning==2.6.6"),
            "pytorch-lightning==2.6.6",
            *("trl==1.16.0", "peft==0.21.2", "datasets==5.2.0"),
            # Published as source only; nothing of it is compiled before it is used.
            *("--no-binary=deepspeed", "deepspeed==0.19.8"),
            # What these ask for, as pip resolved it beside that torch.
            *("tokenizers==0.23.3", "safetensors==0.8.0", "huggingface_hub==2.4.0"),
            *("lightning-utilities==0.15.3", "torchmetrics==1.9.0", "psutil==7.2.2"),
            *("regex==2026.11.19", "PyYAML==6.0.4", "packaging==26.4", "tqdm==4.70.1"),
            *("typer==0.29.2", "click==8.5.1", "shellingham==1.5.4", "annotated-doc==0.0.7"),
            *("rich==15.0.0", "markdown-it-py==4.3.0", "mdurl==0.1.2", "Pygments==2.21.0"),
            *("httpx2==2.16.2", "httpcore2==2.16.2", "anyio==4.16.0", "idna==3.20", "h11==0.16.0"),
            *("truststore==0.10.5", "hf-xet==1.8.0", "requests==2.34.2", "urllib3==2.8.0"),
            *("certifi==2026.10.19.post1", "charset-normalizer==3.5.3"),
            *("pyarrow==26.0.1", "pandas==3.1.1", "python-dateutil==4.0.0", "tzdata==2026.6"),
            *("dill==0.4.1", "multiprocess==0.70.19", "xxhash==4.1.0"),
            *("protobuf==7.36.2", "hjson==3.1.0", "ninja==1.13.2"),
            *("msgpack==1.2.4", "einops==0.8.2", "py-cpuinfo==9.0.0", "pydantic==2.14.4"),
            *("pydantic-core==2.50.5", "annotated-types==0.8.0", "typing-inspection==0.4.5"),
        )
    ),
    # Goes before both: PEFT refuses the torchao that torchtune needs.
    "torchtune": Packages(
        (
            "--no-deps",
            *("torchtune==0.6.1", "torchao==0.15.0", "torchdata==0.11.0", "omegaconf==2.4.0"),
            *("sentencepiece==0.2.3", "tiktoken==0.14.0", "blobfile==3.3.0", "lxml==6.1.3"),
            *("pycryptodomex==3.24.2", "kagglehub==1.0.3", "kagglesdk==0.1.38", "pillow==13.0.0"),
        )
    ),
    "xgboost": Packages(("xgboost-cpu==3.2.0", _DIGITS)),
}
"""The folders by name."""


def environment(name: str, version: str = PYTHON) -> Path:
    """The folder for PYTHONPATH, installed where it is missing; its `bin` is for PATH.

    Args:
        name: of `ENVIRONMENTS`.
        version: of the Python that imports them.

    Raises:
        NotAvailable: It cannot be installed; the message ends with its output.
    """
    packages = ENVIRONMENTS[name]
    folder = build.cache() / "python" / _key(packages, version)
    if not folder.exists():
        with build.alone("python"):
            if not folder.exists():
                _install(name, version, folder)
    return folder


def variables(*names: str) -> dict[str, str]:
    """Variables of a process of this machine, by this Python, that has several of them and no GPU.

    Args:
        names: of `ENVIRONMENTS`; what an earlier one has hides it in later ones.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folders = [environment(each, version) for each in names]
    return {
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "PATH": os.pathsep.join((*(f"{each}/bin" for each in folders), os.environ["PATH"])),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
    }


def _key(packages: Packages, version: str) -> str:
    content = json.dumps([version, asdict(packages)])
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _install(name: str, version: str, folder: Path) -> None:
    packages = ENVIRONMENTS[name]
    partial, log = folder.with_suffix(".partial"), folder.with_suffix(".log")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    print(f"cluster: installing Python packages of {name} (once) ...", flush=True)
    started = time.monotonic()
    _fill(packages, version, partial, log)
    for pattern in packages.removed:
        for path in partial.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for script in partial.glob("bin/*"):
        _run_by_the_image(script)
    # Pods that are not root's read it too.
    partial.chmod(0o755)
    partial.rename(folder)
    took = time.monotonic() - started
    print(f"cluster: ... packages of {name} are installed after {took:.0f} s", flush=True)


def _fill(packages: Packages, version: str, folder: Path, log: Path) -> None:
    command, told = _installer()
    binary = ("--python-version", version, "--only-binary=:all:")
    with log.open("w") as output:
        code = subprocess.run(
            (*command, *binary, "--target", str(folder), *packages.requirements),
            env=os.environ | told,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        ).returncode
    if code != 0:
        last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-5:])
        needed = ", ".join(packages.requirements)
        raise NotAvailable(f"installing {needed} failed (exit code {code}, log {log}):\n{last}")


def _installer() -> tuple[Sequence[str], Mapping[str, str]]:
    """What installs, and variables for it: uv where it can be told what pip of this machine is set to.

    It takes a twentieth of pip's time. Nothing is compiled ahead: whoever imports a module first writes what it compiled beside it, and most
    modules of these packages are never imported.
    """
    pip, uv = (sys.executable, "-m", "pip"), installer.uv_command()
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True)
    settings = pip_settings.pip_settings(listed.stdout.splitlines())
    if uv is None or pip_settings.not_passed_on(settings):
        return (*pip, "install", "--no-compile", *QUIET), {"PIP_ROOT_USER_ACTION": "ignore"}
    return (*uv, "pip", "install"), pip_settings.for_uv(settings, os.environ)


def _run_by_the_image(script: Path) -> None:
    """Name the image's Python in a script's first line, where pip wrote that of this machine."""
    content = script.read_bytes()
    first, _, rest = content.partition(b"\n")
    if first.startswith(b"#!") and sys.executable.encode() in first:
        script.write_bytes(b"#!/usr/bin/env python3\n" + rest)
