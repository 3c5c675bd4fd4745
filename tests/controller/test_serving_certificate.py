"""What is due of the webhooks' certificates, and that no moment is without trust."""

import datetime as dt
from collections.abc import Mapping
from random import Random

import pytest
from cryptography import x509

from tests.controller import pem
from tests.controller.pem import HOUR, NAMES, NOW, YEAR
from trainer_infra.controller.serving_certificate import (
    KEYS,
    CertificatePeriods,
    due_certificates,
    read_certificates,
)

PERIODS = CertificatePeriods()
SECOND = dt.timedelta(seconds=1)


def due(
    stored: Mapping[str, bytes], now: dt.datetime = NOW, *, is_settled: bool = True
) -> dict[str, bytes]:
    return due_certificates(stored, NAMES, now, PERIODS, is_settled=is_settled)


def changed(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> set[str]:
    return {key for key in KEYS if old.get(key) != new.get(key)}


FIRST = due({})


def test_an_empty_secret_gets_an_authority_and_a_certificate() -> None:
    assert set(FIRST) == set(KEYS)
    assert pem.subjects(FIRST["ca.crt"]) == ["O=kubeflow-trainer,CN=kubeflow-trainer-ca"]
    for name in NAMES:
        assert pem.trusts(FIRST["ca.crt"], FIRST["tls.crt"], NOW, name)
    assert not pem.trusts(FIRST["ca.crt"], FIRST["tls.crt"], NOW, "other.system.svc")
    (server,) = x509.load_pem_x509_certificates(FIRST["tls.crt"])
    (authority,) = x509.load_pem_x509_certificates(FIRST["ca.crt"])
    assert server.not_valid_after_utc == NOW + YEAR
    assert authority.not_valid_after_utc == NOW + 3650 * dt.timedelta(days=1)
    assert due(FIRST) == FIRST


def test_a_certificate_is_renewed_after_two_thirds_of_its_time_by_the_same_authority() -> None:
    aged = NOW + YEAR * 2 / 3
    assert due(FIRST, aged - SECOND) == FIRST
    later = due(FIRST, aged + SECOND)
    assert changed(FIRST, later) == {"tls.crt", "tls.key"}
    assert pem.trusts(FIRST["ca.crt"], later["tls.crt"], aged + SECOND)


def test_a_new_authority_comes_first_signs_later_and_the_old_one_leaves_last() -> None:
    aged = NOW + 10 * YEAR * 2 / 3
    stored = due(FIRST, aged - YEAR / 2)
    begun = due(stored, aged + SECOND)
    assert changed(stored, begun) == {"ca.crt", "ca.key"}
    assert begun["ca.crt"].endswith(stored["ca.crt"])
    # Until the API server trusts it, nothing more happens.
    assert due(begun, aged + SECOND, is_settled=False) == begun
    signed = due(begun, aged + SECOND)
    assert changed(begun, signed) == {"tls.crt", "tls.key"}
    assert pem.trusts(signed["ca.crt"], signed["tls.crt"], aged + SECOND)
    assert not pem.trusts(stored["ca.crt"], signed["tls.crt"], aged + SECOND)
    assert due(signed, aged + PERIODS.overlap) == signed
    ended = due(signed, aged + PERIODS.overlap + 2 * SECOND)
    assert changed(signed, ended) == {"ca.crt"}
    assert signed["ca.crt"].startswith(ended["ca.crt"])
    assert pem.count(ended["ca.crt"]) == 1


def test_an_authority_of_the_reference_is_kept() -> None:
    """Its certificate has not all names of ours, so that is made anew; the bundle stays."""
    theirs = pem.of_the_reference()
    ours = due(theirs, is_settled=False)
    assert changed(theirs, ours) == {"tls.crt", "tls.key"}
    assert pem.trusts(theirs["ca.crt"], ours["tls.crt"], NOW)
    whole = pem.of_the_reference(NAMES)
    assert due(whole) == whole


GARBAGE = (
    b"",
    b"garbage",
    b"\xff\xfe\x00",
    b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
)


@pytest.mark.parametrize("damage", GARBAGE)
@pytest.mark.parametrize("key", KEYS)
def test_what_is_damaged_is_made_anew_and_what_is_sound_stays(key: str, damage: bytes) -> None:
    stored = {**FIRST, key: damage}
    made = due(stored, is_settled=False)
    while made != stored:
        stored, made = made, due(made, is_settled=False)
    assert read_certificates(made, NAMES, NOW).server is not None
    assert pem.trusts(made["ca.crt"], made["tls.crt"], NOW)
    expected = {
        "ca.crt": {*KEYS},
        "ca.key": {"ca.crt", "ca.key"},
        "tls.crt": {"tls.crt", "tls.key"},
        "tls.key": {"tls.crt", "tls.key"},
    }
    assert changed(FIRST, made) == expected[key]


def test_without_the_authoritys_key_its_certificate_is_shown_until_a_new_one_is_trusted() -> None:
    begun = due({**FIRST, "ca.key": b""}, is_settled=False)
    assert begun["tls.crt"] == FIRST["tls.crt"]
    assert pem.trusts(begun["ca.crt"], begun["tls.crt"], NOW)
    signed = due(begun)
    assert pem.trusts(begun["ca.crt"], signed["tls.crt"], NOW)


@pytest.mark.parametrize("hours", [-2, 24 * 366, 24 * 3660])
def test_what_is_expired_or_not_yet_valid_is_made_anew(hours: int) -> None:
    now = NOW + hours * HOUR
    made = due(FIRST, now, is_settled=False)
    assert pem.trusts(made["ca.crt"], made["tls.crt"], now)


def test_a_certificate_of_another_key_is_made_anew() -> None:
    mixed = {**FIRST, "tls.key": due({})["tls.key"]}
    assert changed(mixed, due(mixed)) == {"tls.crt", "tls.key"}
    other = {**FIRST, "ca.key": due({})["ca.key"]}
    assert changed(other, due(other, is_settled=False)) == {"ca.crt", "ca.key"}


class Fleet:
    """Replicas that each look at one Secret from time to time, and the bundle of the API server."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = NOW
        self.secret: dict[str, bytes] = {}
        self.bundle = b""
        self.injected = NOW
        self.shown: dict[int, bytes] = {}

    def look(self, replica: int) -> None:
        """What `CertificateRotation.step` does of it, with a minute for the bundle to settle."""
        for _ in range(5):
            found = read_certificates(self.secret, NAMES, self.now)
            if found.server is not None:
                self.shown[replica] = self.secret["tls.crt"]
                if self.bundle != self.secret["ca.crt"]:
                    self.bundle, self.injected = self.secret["ca.crt"], self.now
            settled = self.bundle == self.secret.get("ca.crt") and (
                self.now >= self.injected + dt.timedelta(minutes=1)
            )
            made = due(self.secret, self.now, is_settled=settled)
            if made == self.secret:
                return
            self.secret = made

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.now += dt.timedelta(minutes=self.random.choice((1, 5, 60 * 24 * 25)))
            # Every replica looks more often than the old authority stays.
            order = [0, 1, 2]
            self.random.shuffle(order)
            for replica in order:
                self.look(replica)
                assert all(pem.trusts(self.bundle, each, self.now) for each in self.shown.values())


@pytest.mark.parametrize("seed", range(3))
def test_in_ten_years_no_replica_shows_what_the_bundle_does_not_trust(seed: int) -> None:
    fleet = Fleet(Random(seed))
    for replica in range(3):
        fleet.look(replica)
    first = fleet.bundle
    fleet.live(400)
    assert fleet.now > NOW + 8 * YEAR
    assert first not in fleet.bundle
