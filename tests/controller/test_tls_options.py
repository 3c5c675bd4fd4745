"""`tls` of the manager's configuration, in Go's words, as what OpenSSL takes."""

import re
import ssl
import subprocess

import pytest

from tests.parity import reference
from trainer_infra.controller.tls_options import ConfiguredTLS, TLSOptions, configured_tls

SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
}


def test_nothing_said_is_the_default() -> None:
    assert configured_tls({}) == ConfiguredTLS(TLSOptions())
    assert configured_tls({"minVersion": "", "cipherSuites": [], "nextProtos": ["http/1.1"]}) == (
        ConfiguredTLS(TLSOptions())
    )


def test_versions_are_those_that_openssl_takes() -> None:
    assert configured_tls({"minVersion": "1.3"}).options.minimum_version == ssl.TLSVersion.TLSv1_3
    for version in ("1.0", "1.1", "2"):
        found = configured_tls({"minVersion": version})
        assert found.options == TLSOptions()
        assert f"tls.minVersion '{version}'" in found.warnings[0]


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_of_go_has_the_name_of_openssl(suite: str) -> None:
    found = configured_tls({"cipherSuites": [suite, "TLS_AES_128_GCM_SHA256"]})
    assert found == ConfiguredTLS(TLSOptions(ciphers=SUITES[suite]))


@pytest.mark.verify
def test_every_suite_that_go_calls_secure_is_known() -> None:
    text = subprocess.run(
        ["go", "doc", "-all", "crypto/tls"],
        capture_output=True,
        text=True,
        check=True,
        cwd=reference.SOURCES,
    ).stdout
    names = set(re.findall(r"\bTLS_ECDHE_\w+_GCM_\w+", text))
    assert len(names) >= 4
    assert configured_tls({"cipherSuites": sorted(names)}).warnings == ()


def test_an_unknown_suite_and_http_2_are_ignored_and_said() -> None:
    found = configured_tls({"cipherSuites": ["TLS_NO_SUCH"], "nextProtos": ["h2", "http/1.1"]})
    assert found.options == TLSOptions()
    assert [each.partition(" ")[0] for each in found.warnings] == [
        "tls.cipherSuites:",
        "tls.nextProtos:",
    ]
