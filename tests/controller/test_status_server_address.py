"""Where pods report: the configuration and the certificate's Secret as one value."""

import base64
from typing import Any

import pytest

from trainer_infra.controller.status_server_address import StatusServerPlace, status_server_of
from trainer_infra.render.plugins.train_job_status import StatusServer

PLACE = StatusServerPlace("manager", "webhook-cert", "kubeflow-system", 10443)


def coded(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.mark.parametrize(
    ("secret", "authority"),
    [
        (None, None),
        ({}, ""),
        ({"data": None}, ""),
        ({"data": {"tls.crt": coded(b"x")}}, ""),
        ({"data": {"ca.crt": ""}}, ""),
        ({"data": {"ca.crt": "%"}}, ""),
        ({"data": {"ca.crt": coded(b"\xff")}}, ""),
        ({"data": {"ca.crt": coded(b"PEM\n")}}, "PEM\n"),
    ],
)
def test_the_authority_is_that_of_the_secret(
    secret: dict[str, Any] | None, authority: str | None
) -> None:
    assert status_server_of(PLACE, secret) == StatusServer(
        "manager", "kubeflow-system", 10443, "webhook-cert", authority
    )
