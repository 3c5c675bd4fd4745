"""Volcano v1.10: scheduler, controllers and webhooks as images, of their published module.

`make soak` makes them before its tests start; their manifests are the platform's affair. The webhooks'
image also has what makes their certificate: the module's script, in the tests' Debian, with kubectl.
"""

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, cast

from from_source.cluster import base_image, build, images, kubectl
from from_source.cluster.build import Program
from tools import schemas

MODULE: Final = ("volcano.sh/volcano", "v1.10.0")
"""Module and version of what is built."""
_FLAGS: Final = f"-s -w -X {MODULE[0]}/pkg/version.Version={MODULE[1]}"
IMAGES: Final = {
    f"docker.io/volcanosh/vc-{part}:{MODULE[1]}": Program(
        f"vc-{part}", "volcano", f"{MODULE[0]}/cmd/{part}", _FLAGS
    )
    for part in ("scheduler", "controller-manager", "webhook-manager")
}
"""What is built, by the published name of its image."""
_WEBHOOKS: Final = "webhook-manager"
_SCRIPT: Final = "gen-admission-secret.sh"
_SHELL: Final = "usr/bin/sh"
"""The script is written for a shell that knows `[[`, which Debian's smallest does not."""


_CONFIG: Final = {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "WorkingDir": "/"}


def archives() -> Mapping[str, Path]:
    """The images' archives by the images' published names, made once."""
    return {name: _archive(name, program) for name, program in IMAGES.items()}


def _archive(name: str, wanted: Program) -> Path:
    program = build.built(wanted)
    config = {"Entrypoint": [f"/{program.name}"]}
    if not program.name.endswith(_WEBHOOKS):
        return images.of_program(name, program, program.name, config)
    system = base_image.archive()
    file = program.with_name(f"{program.name}-{system.parent.name}.tar")
    if not file.exists():
        with TemporaryDirectory(dir=program.parent) as folder:
            layer = _with_programs(system, program, Path(folder) / "layer.tar")
            images.archive(file, name, layer, config={**config, **_CONFIG})
    return file


def _with_programs(system: Path, program: Path, layer: Path) -> Path:
    """The only layer of an image, with the program, kubectl and the script added to it."""
    with tarfile.open(system) as whole:
        (inside,) = (each for each in whole if each.name.endswith(".tar"))
        content = whole.extractfile(inside)
        with layer.open("wb") as target:
            shutil.copyfileobj(cast("IO[bytes]", content), target)
    installer = schemas.module_folder(*MODULE) / "installer" / "dockerfile" / _WEBHOOKS
    added = {
        program.name: program,
        "usr/local/bin/kubectl": Path(kubectl.program()),
        _SCRIPT: installer / _SCRIPT,
    }
    with tarfile.open(layer, "a", format=tarfile.GNU_FORMAT) as packed:
        for path, file in added.items():
            packed.add(file.resolve(), f"./{path}", filter=_executable)
        shell = tarfile.TarInfo(f"./{_SHELL}")
        shell.type, shell.linkname = tarfile.SYMTYPE, "bash"
        packed.addfile(shell)
    return layer


def _executable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755
    return entry
