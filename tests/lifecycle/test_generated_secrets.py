"""What a driver fills into a Secret when it creates it."""

import base64
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from trainer_infra.errors import Bug
from trainer_infra.lifecycle import generated_secrets

KEYS = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "tj-mpi-ssh-auth", "namespace": "n"},
    "type": "kubernetes.io/ssh-auth",
    "immutable": True,
    "data": {"ssh-privatekey": "<generated>", "ssh-publickey": "<generated>"},
}


def curve(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "job-1-flux-curve", **metadata},
        "data": {"curve.cert": "<generated>"},
    }


def owner(uid: str) -> list[dict[str, Any]]:
    return [{"uid": "other"}, {"uid": uid, "controller": True}]


def content(value: Any, key: str) -> bytes:
    return base64.b64decode(value["data"][key], validate=True)


def test_ssh_keys_are_a_pair_that_openssh_reads(tmp_path: Path) -> None:
    made = generated_secrets.with_generated(KEYS)
    private, public = content(made, "ssh-privatekey"), content(made, "ssh-publickey")

    assert private.startswith(b"-----BEGIN EC PRIVATE KEY-----\n")
    key = serialization.load_pem_private_key(private, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp521r1"
    assert re.fullmatch(rb"ecdsa-sha2-nistp521 [A-Za-z0-9+/=]+\n", public)
    if shutil.which("ssh-keygen"):
        (tmp_path / "id_rsa").write_bytes(private)
        (tmp_path / "id_rsa").chmod(0o600)
        command = ["ssh-keygen", "-y", "-f", str(tmp_path / "id_rsa")]
        assert subprocess.run(command, capture_output=True, check=True).stdout == public
    else:
        assert serialization.load_ssh_public_key(public) == key.public_key()


def test_everything_but_the_contents_stays_and_the_given_object_is_not_changed() -> None:
    made = generated_secrets.with_generated(KEYS)
    assert {**made, "data": KEYS["data"]} == KEYS
    assert set(made["data"]) == {"ssh-privatekey", "ssh-publickey"}


def test_each_call_makes_other_ssh_keys() -> None:
    assert (
        generated_secrets.with_generated(KEYS)["data"]
        != generated_secrets.with_generated(KEYS)["data"]
    )


def test_a_curve_certificate_has_the_keys_that_the_reference_makes_of_the_same_uid() -> None:
    # What Kubeflow Trainer v2.3.0 writes for this UID.
    value = curve(ownerReferences=owner("11111111-2222-3333-4444-555555555555"))
    text = content(generated_secrets.with_generated(value), "curve.cert").decode()
    settings = [line for line in text.splitlines() if not line.startswith("#")]
    assert settings == [
        "metadata",
        '    name = "job-1"',
        "curve",
        '    public-key = ")RF3ktK]n14JJFEeL&Q]V2?T?f7Fzu:xw%DC@ehJ"',
        '    secret-key = "w]Ey!S-}N<@&e2A!1<VdmY-hIY%a3a6e.h!*-zqI"',
    ]


def test_the_same_owner_has_the_same_certificate() -> None:
    one, same, other = (
        generated_secrets.with_generated(curve(ownerReferences=owner(uid))) for uid in "aab"
    )
    assert one == same
    assert one != other


def test_a_certificate_without_an_owner_is_our_own_mistake() -> None:
    with pytest.raises(Bug, match="Secret job-1-flux-curve has no controller"):
        generated_secrets.with_generated(curve())


def test_contents_that_nothing_makes_are_our_own_mistake() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "<generated>"}}
    with pytest.raises(Bug, match="Secret x wants contents that nothing makes"):
        generated_secrets.with_generated(secret)


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "<generated>"}},
        {"kind": "Secret", "metadata": {"name": "x"}},
        {"kind": "Secret", "metadata": {"name": "x"}, "data": {"ssh-privatekey": "aGk="}},
        {"kind": "JobSet", "metadata": {"name": "x"}, "spec": {}},
    ],
)
def test_other_objects_stay_as_they_are(value: dict[str, Any]) -> None:
    assert generated_secrets.with_generated(value) is value
