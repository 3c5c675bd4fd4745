"""`make test` and `make verify`: no test is in both or in neither, and the first needs no program of a cluster."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from from_source.cluster import build, etcd, helm, kube_apiserver, kubectl
from tests.parity import reference
from tools import schemas
from trainer_infra.errors import NotAvailable

ROOT = Path(__file__).resolve().parents[2]


def expression(target: str) -> str:
    """What a target gives to pytest's `-m`."""
    (found,) = re.findall(
        rf'^{target}: .*\n(?:\t.*\n)*?.*-m "([^"]*)"', (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    return str(found)


def test_a_test_that_is_no_soak_is_in_one_tier() -> None:
    chosen = {
        (soak, verify): [
            target
            for target in ("test", "verify")
            if eval(expression(target), {"soak": soak, "verify": verify})
        ]
        for soak, verify in itertools.product((False, True), repeat=2)
    }
    assert chosen == {
        (False, False): ["test"],
        (False, True): ["verify"],
        (True, False): [],
        (True, True): [],
    }


@pytest.mark.parametrize(
    "program",
    [etcd.program, helm.program, kube_apiserver.program, kubectl.program, reference.binary],
    ids=lambda each: f"{each.__module__}.{each.__name__}",
)
def test_a_test_without_the_mark_gets_no_program_of_a_cluster(program: object) -> None:
    assert callable(program)
    with pytest.raises(NotAvailable, match="comes from Go modules, which `make test` does without"):
        program()


def test_a_test_without_the_mark_gets_no_go_module() -> None:
    with pytest.raises(NotAvailable, match="or is marked `verify`"):
        schemas.module_folder(*schemas.TRAINER)


@pytest.mark.parametrize("program", ["helm", "kubectl"])
def test_a_test_without_the_mark_does_not_start_what_is_installed(program: str) -> None:
    done = subprocess.run([program, "version"], capture_output=True, text=True, check=False)
    said = f"{program} is not for `make test`: a test that starts it asks for the fixture {program}_on_path\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.verify
def test_a_test_with_the_mark_may_have_all_of_it() -> None:
    build.must_be_allowed("a program")
