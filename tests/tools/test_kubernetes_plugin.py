"""The stand-in for Pulumi's Kubernetes plugin steps aside for the real one, wherever that is."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from from_source.kubernetes_plugin import provider_settings
from from_source.kubernetes_plugin.real_plugin import PLUGIN, real_plugin
from tests.tools.conftest import ROOT

REAL = '#!/bin/sh\necho "real $*"\n'
STAND_IN = "#!/bin/sh\nexec python -m from_source.kubernetes_plugin\n"


def program(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    path = folder / PLUGIN
    path.write_text(text)
    path.chmod(0o755)
    return path


def environment(tmp_path: Path, *folders: Path) -> Mapping[str, str]:
    search = os.pathsep.join(map(str, folders))
    return {"PATH": search, "HOME": str(tmp_path), "PULUMI_HOME": str(tmp_path / "pulumi")}


def test_the_real_one_is_found_behind_a_stand_in(tmp_path: Path) -> None:
    other = program(tmp_path / "checkout", STAND_IN)
    real = program(tmp_path / "bin", REAL)

    assert real_plugin(environment(tmp_path, other.parent, real.parent)) == real
    assert real_plugin(environment(tmp_path, other.parent)) is None


def test_the_newest_of_pulumis_cache_is_taken(tmp_path: Path) -> None:
    plugins = tmp_path / "pulumi" / "plugins"
    for version in ("4.9.0", "4.34.2"):
        program(plugins / f"resource-kubernetes-v{version}", REAL)
    (plugins / "resource-kubernetes-v5.0.0").mkdir()

    found = real_plugin(environment(tmp_path))
    assert found == plugins / "resource-kubernetes-v4.34.2" / PLUGIN


@pytest.mark.parametrize("place", ["bin", "pulumi/plugins/resource-kubernetes-v4.34.2"])
def test_the_stand_in_becomes_the_real_one(tmp_path: Path, place: str) -> None:
    real = program(tmp_path / place, REAL)
    done = subprocess.run(
        [sys.executable, "-m", "from_source.kubernetes_plugin", "127.0.0.1:1"],
        cwd=ROOT,
        env=environment(tmp_path, real.parent, Path("/usr/bin"), Path("/bin")),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "real 127.0.0.1:1\n"


SETTINGS = {
    "renderYamlToDirectory": "out",
    "strictMode": "true",
    "enableServerSideApply": False,
    "clusterIdentifier": "a",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_the_stand_in_does_not_serve_is_refused(setting: str) -> None:
    ((path, reason),) = provider_settings.problems({"context": "a", setting: SETTINGS[setting]})
    assert path == setting
    assert reason == (
        f"{setting} is not served by trainer_infra's stand-in for Pulumi's Kubernetes plugin; leave it "
        "out, or run `pulumi plugin install resource kubernetes`"
    )


def test_a_setting_without_effect_is_taken() -> None:
    given = {"strictMode": "false", "enableServerSideApply": "true", "kubeClientSettings": {}}
    assert list(provider_settings.problems(given)) == []
