"""What Kueue refuses of a worker's kubeconfig is said before it gets it, without a value of it."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.platform.queues.program import KUBECONFIG
from trainer_infra.platform.queues.workers import kubeconfig_problems

Change = Callable[[dict[str, Any]], object]


def user(**fields: Any) -> Change:
    return lambda config: config["users"][0].update(user=fields)


def cluster(**fields: Any) -> Change:
    return lambda config: config["clusters"][0]["cluster"].update(fields)


REFUSED: dict[str, tuple[Change, str]] = {
    "tokenFile": (user(tokenFile="/a"), "names a file of the token (user kueue)"),
    "basic": (
        user(username="me", password="hidden"),
        "signs in with a password (user kueue)",
    ),
    "exec": (user(exec={"command": "aws"}), "runs a program to sign in (user kueue)"),
    "provider": (user(**{"auth-provider": {"name": "gcp"}}), "has an auth provider (user kueue)"),
    "insecure": (cluster(**{"insecure-skip-tls-verify": True}), "trusts any server (cluster west)"),
    "file": (
        cluster(**{"certificate-authority": "ca.crt"}),
        "names a file of the authority (cluster west)",
    ),
    "no server": (cluster(server=""), "has no server (cluster west)"),
    "no host": (
        cluster(server="https://a_b:6443"),
        "has a server that is not a host (cluster west)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_kueue_refuses_is_said(case: str) -> None:
    change, sentence = REFUSED[case]
    config = copy.deepcopy(json.loads(KUBECONFIG))
    change(config)
    said = [what for what, _ in kubeconfig_problems(json.dumps(config))]
    assert said == [f"{sentence}, which Kueue refuses"]


@pytest.mark.parametrize(
    "server", ["https://10.0.0.1:6443", "https://[fd00::1]:6443", "HTTPS://A.b"]
)
def test_a_server_may_be_an_address_or_a_name(server: str) -> None:
    config = json.loads(KUBECONFIG)
    config["clusters"][0]["cluster"]["server"] = server
    assert list(kubeconfig_problems(json.dumps(config))) == []


@pytest.mark.parametrize("text", ["east.yaml", "", "[1, 2]", "a: [", "users: 1\nclusters: []"])
def test_what_is_no_kubeconfig_is_said(text: str) -> None:
    ((what, _),) = kubeconfig_problems(text)
    assert "kubeconfig" in what
