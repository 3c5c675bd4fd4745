"""Each failure is one sentence with the place, the cause and the remedy; none hangs, and none shows a secret."""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from from_source.cluster.distribution import Registry
from from_source.cluster.versitygw import S3Server
from tests.in_pod.initializers.hub import Hub, Repository
from tests.in_pod.initializers.initializer_process import Initializer, end_of
from tests.in_pod.initializers.test_s3 import write
from tests.in_pod.initializers.web_server import Answer, WebServer
from trainer_infra.in_pod import own_place

KNOWN = "hf://, s3://, gs://, az://, https://, file://, pvc://, oci://"
KEYS = (
    "set ACCESS_KEY_ID and SECRET_ACCESS_KEY, or give the pod's service account a role; "
    "for a public bucket set AWS_SKIP_SIGNATURE=true"
)
PROXY = "see whether the address is right, and whether a proxy answers in its place"
SECRETS = (
    "not-a-secret-key",
    "hf_wrong-token",
    "wrong-secret",
    "secret-signature",
    "a-wrong-password",
)


@dataclass(frozen=True)
class Case:
    """Variables, and the line that they lead to; `{...}` are the addresses of `places`."""

    line: str
    environment: Mapping[str, str] = field(default_factory=dict)
    kind: str = "dataset"


CASES = {
    "unset": Case(
        f"STORAGE_URI: is not set; set it to where the data are, with one of {KNOWN}",
        {"STORAGE_URI": ""},
    ),
    "no URI": Case(
        "STORAGE_URI: is not a URI; write it as scheme://place/path, for example hf://org/name",
        {"STORAGE_URI": "org/name"},
    ),
    "misspelled scheme": Case(
        f"STORAGE_URI: has the unknown scheme s4://; did you mean s3://? known are {KNOWN}",
        {"STORAGE_URI": "s4://bucket/x"},
    ),
    "scheme of another program": Case(
        f"STORAGE_URI: has the unknown scheme gcs://; did you mean gs://? known are {KNOWN}",
        {"STORAGE_URI": "gcs://bucket/x"},
    ),
    "a dataset of no organization": Case(
        "hf://onlyrepo: names no organization, which each dataset has; write hf://ORGANIZATION/NAME",
        {"STORAGE_URI": "hf://onlyrepo"},
    ),
    "a folder of a model": Case(
        "hf://org/model/sub: 'org/model/sub' is not a name of a model; write hf://ORGANIZATION/NAME",
        {"STORAGE_URI": "hf://org/model/sub"},
        kind="model",
    ),
    "unknown scheme": Case(
        f"STORAGE_URI: has the unknown scheme quark://; known are {KNOWN}",
        {"STORAGE_URI": "quark://bucket"},
    ),
    "no bucket named": Case(
        "s3://: names nothing after s3://; write s3://BUCKET/FOLDER", {"STORAGE_URI": "s3://"}
    ),
    "no such bucket": Case(
        "s3://no-such-bucket/x: there is no bucket no-such-bucket; see whether the URI is right",
        {"STORAGE_URI": "s3://no-such-bucket/x"},
    ),
    "no such object": Case(
        "s3://{bucket}/nothing: there is no folder and no file of that name in bucket {bucket}; "
        "see whether the URI is right",
        {"STORAGE_URI": "s3://{bucket}/nothing"},
    ),
    "nothing matches": Case(
        "s3://{bucket}: ALLOW_PATTERNS=*.parquet leaves none of 2 files; "
        "change the patterns; set IGNORE_PATTERNS to nothing to ignore none",
        {"ALLOW_PATTERNS": "*.parquet"},
    ),
    "all ignored": Case(
        "s3://{bucket}/only: IGNORE_PATTERNS=*.b* leaves none of 1 file; "
        "change the patterns; set IGNORE_PATTERNS to nothing to ignore none",
        {"STORAGE_URI": "s3://{bucket}/only", "IGNORE_PATTERNS": "*.b*"},
        kind="model",
    ),
    "one of two keys": Case(
        "s3://{bucket}: SECRET_ACCESS_KEY is not set; set both or none of the two",
        {"SECRET_ACCESS_KEY": ""},
    ),
    "wrong key": Case(
        "s3://{bucket}: the credentials are refused (XAdminUserNotFound); " + KEYS,
        {"ACCESS_KEY_ID": "nobody"},
    ),
    "wrong secret": Case(
        "s3://{bucket}: the credentials are refused (SignatureDoesNotMatch); " + KEYS,
        {"SECRET_ACCESS_KEY": "wrong-secret"},
    ),
    "no permission": Case(
        "s3://{bucket}: no permission; let the account list bucket {bucket} and read its objects, or "
        + KEYS,
        {"ACCESS_KEY_ID": "", "SECRET_ACCESS_KEY": "", "AWS_SKIP_SIGNATURE": "true"},
    ),
    "no address": Case(
        "ENDPOINT: is '127.0.0.1:7070'; begin it with https:// or http://",
        {"ENDPOINT": "127.0.0.1:7070"},
    ),
    "no server": Case(
        "s3://{bucket}: its server refuses connections; "
        "see whether the address is right and it runs",
        {"ENDPOINT": "http://127.0.0.1:{closed}"},
    ),
    "no such name": Case(
        "s3://{bucket}: its server's name cannot be resolved; "
        "see whether the name is right, and whether this pod may use DNS",
        {"ENDPOINT": "http://no-such-host.invalid"},
    ),
    "certificate": Case(
        "https://{web}/x: the certificate of its server is not trusted; "
        "name a file with the authority's certificate in SSL_CERT_FILE",
        {"STORAGE_URI": "https://{web}/x", "SSL_CERT_FILE": ""},
    ),
    "certificate of an object store": Case(
        "s3://{bucket}: the certificate of its server is not trusted; "
        "name a file with the authority's certificate in SSL_CERT_FILE",
        {"ENDPOINT": "https://{web}", "SSL_CERT_FILE": ""},
    ),
    "no TLS": Case(
        "https://{s3}/x: its server does not speak TLS as we do; "
        "see whether https:// is right for that port",
        {"STORAGE_URI": "https://{s3}/x"},
    ),
    "no such authority": Case(
        "SSL_CERT_FILE: names /no/file, which cannot be read: No such file or directory",
        {"SSL_CERT_FILE": "/no/file"},
    ),
    "no such web file": Case(
        "https://{web}/missing: there is no such file; see whether the URI is right",
        {"STORAGE_URI": "https://{web}/missing"},
    ),
    "private web file": Case(
        "https://{web}/private: the server answered 403: it wants other credentials; "
        "set ACCESS_TOKEN, or HTTP_USERNAME and HTTP_PASSWORD, or sign the URL anew",
        {"STORAGE_URI": "https://{web}/private?X-Amz-Signature=secret-signature"},
    ),
    "web folder": Case(
        "https://{web}/folder/: names a folder, and a web server has no list of its files; "
        "name one file",
        {"STORAGE_URI": "https://{web}/folder/"},
    ),
    "broken server": Case(
        "https://{web}/broken: the server answered 503 Service Unavailable",
        {"STORAGE_URI": "https://{web}/broken"},
    ),
    "no such repository": Case(
        "hf://org/missing: the Hub has no dataset org/missing that is public; "
        "see whether the URI is right; "
        "if it is private, set ACCESS_TOKEN to a token of an account that may read it",
        {"STORAGE_URI": "hf://org/missing"},
    ),
    "no repository's name": Case(
        "hf://org/..: 'org/..' is not a name of a dataset; write hf://ORGANIZATION/NAME",
        {"STORAGE_URI": "hf://org/.."},
    ),
    "no such revision": Case(
        "hf://org/gated@v9: the dataset has no revision 'v9'; name a branch, a tag or a commit after @",
        {"STORAGE_URI": "hf://org/gated@v9"},
    ),
    "gated": Case(
        "hf://org/gated: a.txt: the dataset is gated; ask for access on its page, and "
        "set ACCESS_TOKEN to a token of an account that may read it",
        {"STORAGE_URI": "hf://org/gated"},
    ),
    "wrong token": Case(
        "hf://org/gated: the Hub refuses ACCESS_TOKEN; set it to a valid token",
        {"STORAGE_URI": "hf://org/gated", "ACCESS_TOKEN": "hf_wrong-token"},
    ),
    "no such folder": Case(
        "file:///no/folder: there is no /no/folder; "
        "a pod has only what is in its image and on its volumes",
        {"STORAGE_URI": "file:///no/folder"},
    ),
    "a host in a file's URI": Case(
        "file://data/x: names the host data; write file:/// and the whole path; file:///data/x is one from the root",
        {"STORAGE_URI": "file://data/x"},
    ),
    "claim that is not mounted": Case(
        "pvc://data/x: the claim data is not mounted at /opt/trainer-infra/claims/data; "
        "see whether there is a claim of that name in the namespace",
        {"STORAGE_URI": "pvc://data/x"},
    ),
    "no account": Case(
        "az://data/x: AZURE_STORAGE_ACCOUNT_NAME is not set; set it to the account's name",
        {"STORAGE_URI": "az://data/x"},
    ),
    "key file of Google": Case(
        "gs://data/x: its credentials cannot be used: Unable to open service account file from "
        "/no/file: No such file or directory (os error 2); "
        "give the pod's service account a workload identity, or name a key file in "
        "GOOGLE_APPLICATION_CREDENTIALS; for a public bucket set GOOGLE_SKIP_SIGNATURE=true",
        {"STORAGE_URI": "gs://data/x", "GOOGLE_APPLICATION_CREDENTIALS": "/no/file"},
    ),
    "no such artifact": Case(
        "oci://{registry}/missing:1: the registry has no missing with 1; see whether the URI is right",
        {"STORAGE_URI": "oci://{registry}/missing:1"},
    ),
    "no user of a registry": Case(
        "oci://{registry}/missing:1: the registry wants to know who asks; "
        "set REGISTRY_USERNAME and REGISTRY_PASSWORD, "
        "or mount a pull secret and name its folder in DOCKER_CONFIG",
        {"STORAGE_URI": "oci://{registry}/missing:1", "REGISTRY_USERNAME": ""},
    ),
    "wrong password": Case(
        "oci://{registry}/missing:1: the registry refuses the credentials; "
        "set REGISTRY_USERNAME and REGISTRY_PASSWORD, "
        "or mount a pull secret and name its folder in DOCKER_CONFIG",
        {"STORAGE_URI": "oci://{registry}/missing:1", "REGISTRY_PASSWORD": "a-wrong-password"},
    ),
    "no reference": Case(
        "oci://{registry}/Upper:1: is not a reference to an image or artifact; "
        "write oci://REGISTRY/REPOSITORY:TAG or @sha256:DIGEST, in lower case",
        {"STORAGE_URI": "oci://{registry}/Upper:1"},
    ),
    "attempts": Case(
        "ATTEMPTS: is 'many'; set it to a whole number from 1 on", {"ATTEMPTS": "many"}
    ),
    "a digit that is not a number": Case(
        "ATTEMPTS: is '²'; set it to a whole number from 1 on", {"ATTEMPTS": "²"}
    ),
    "a page in place of the Hub": Case(
        f"hf://org/words: the server's answer is not a Hub's; {PROXY}",
        {"STORAGE_URI": "hf://org/words", "HF_ENDPOINT": "https://{web}"},
    ),
    "a page in place of a registry": Case(
        f"oci://{{web}}/words:1: the server's answer is not a registry's, which has a manifest; {PROXY}",
        {"STORAGE_URI": "oci://{web}/words:1"},
    ),
    "a page in place of a token": Case(
        f"oci://{{web}}/private:1: the server's answer is not a registry's, which gives a token; {PROXY}",
        {"STORAGE_URI": "oci://{web}/private:1"},
    ),
    "redirects without an end": Case(
        "https://{web}/loop: its server redirects without an end; see whether the URI is right",
        {"STORAGE_URI": "https://{web}/loop"},
    ),
    "a redirect to another protocol": Case(
        "https://{web}/ftp: leads to an address that begins with neither https:// nor http://; "
        "see whether the URI and the endpoint are right",
        {"STORAGE_URI": "https://{web}/ftp"},
    ),
    "a token that no header carries": Case(
        "ACCESS_TOKEN: has characters that no token has; see what its Secret holds",
        {"STORAGE_URI": "https://{web}/x", "ACCESS_TOKEN": "hf_wröng-token"},
    ),
    "no authorities of a web server": Case(
        "SSL_CERT_FILE or SSL_CERT_DIR: names no file with certificates: No such file or directory; "
        "name one, or leave it unset",
        {"STORAGE_URI": "https://{web}/x", "SSL_CERT_FILE": "/no/file"},
    ),
    "no proxy": Case(
        "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY: is not an address of a proxy; write http://HOST:PORT",
        {"STORAGE_URI": "https://{web}/x", "HTTPS_PROXY": "nonsense://x"},
    ),
    "a name that is too long": Case(
        "{target}/" + "x" * 300 + ": File name too long; "
        "give it a shorter name at its source, or leave it out with IGNORE_PATTERNS",
        {"STORAGE_URI": "https://{web}/" + "x" * 300},
    ),
}


@pytest.fixture(scope="module")
def places(
    tmp_path_factory: pytest.TempPathFactory, s3: S3Server, registry: Registry
) -> Iterator[Mapping[str, str]]:
    """Addresses and the environment that makes all of them right."""
    folder = tmp_path_factory.mktemp("places")
    bucket = s3.buckets / "failures"
    bucket.mkdir(exist_ok=True)
    write(bucket, {"a.csv": b"a", "only/b.bin": b"b"})

    def answer(path: str, headers: Mapping[str, str]) -> Answer:
        if path.startswith("/v2/private/"):
            challenge = f'Bearer realm="https://{headers["Host"]}/token"'
            return Answer(401, headers={"WWW-Authenticate": challenge})
        if path.startswith(("/api/", "/v2/", "/token", "/xxx")):
            return Answer(200, b"<html>Please log in</html>")
        if path in {"/loop", "/ftp"}:
            goal = {"/loop": "/loop", "/ftp": "ftp://127.0.0.1/x"}[path]
            return Answer(302, headers={"Location": goal})
        return Answer({"/missing": 404, "/broken": 503}.get(path, 403))

    with (
        Hub() as hub,
        WebServer(answer, folder) as web,
        socket.create_server(("127.0.0.1", 0)) as taken,
    ):
        hub.repositories["datasets/org/gated"] = Repository({"a.txt": b"a"}, is_gated=True)
        # Bound and not listening, so that no other program gets it.
        closed = socket.socket()
        closed.bind(("127.0.0.1", 0))
        trusted = folder / "trusted.pem"
        trusted.write_bytes(
            (folder / "authority.pem").read_bytes() + registry.authority.read_bytes()
        )
        yield {
            "bucket": bucket.name,
            "closed": str(closed.getsockname()[1]),
            "hub": hub.url,
            "registry": registry.host,
            "s3": s3.url.removeprefix("http://"),
            "silent": str(taken.getsockname()[1]),
            "trusted": str(trusted),
            "web": web.url.removeprefix("https://"),
        }
        closed.close()


@pytest.fixture
def right(places: Mapping[str, str], s3: S3Server) -> Mapping[str, str]:
    return {
        **s3.environment,
        "STORAGE_URI": f"s3://{places['bucket']}",
        "HF_ENDPOINT": places["hub"],
        "REGISTRY_PASSWORD": "a-password-of-the-tests",
        "REGISTRY_USERNAME": "tester",
        "SSL_CERT_FILE": places["trusted"],
    }


@pytest.mark.parametrize("name", CASES)
def test_a_failure_says_where_what_and_what_to_do(
    name: str, right: Mapping[str, str], places: Mapping[str, str], tmp_path: Path
) -> None:
    case, message = CASES[name], tmp_path / "termination-log"
    own = {key: value.format(**places) for key, value in case.environment.items()}
    environment = {**right, **own, "TRAINER_INFRA_REPORT": str(message)}
    outcome = Initializer(tmp_path, environment, case.kind).run(1)
    line = f"{case.kind}: {case.line.format(**places, target=tmp_path / case.kind)}"
    assert outcome.errors == f"{line}\n"
    assert message.read_text() == line
    assert [each for each in SECRETS if each in outcome.output + outcome.errors] == []


def test_what_is_on_the_volume_and_not_ours_is_not_replaced(
    right: Mapping[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "dataset" / "a.csv"
    folder.mkdir(parents=True)
    outcome = Initializer(tmp_path, right).run(1)
    said = "is a folder, and the download has a file of that name; move it away"
    assert outcome.errors == f"dataset: {folder}: {said}\n"


def test_a_file_on_the_volume_that_is_not_ours_is_neither_replaced_nor_removed(
    right: Mapping[str, str], tmp_path: Path
) -> None:
    dataset = Initializer(tmp_path, right)
    mine = dataset.target / "a.csv"
    write(dataset.target, {mine.name: b"mine"})
    said = (
        "is a file that no initializer wrote, and the download has one of that name; move it away"
    )
    assert dataset.run(1).errors == f"dataset: {mine}: {said}\n"
    assert mine.read_bytes() == b"mine"
    # What is equal is lost to no one, and from then on it is of the download.
    mine.write_bytes(b"a")
    dataset.run()
    dataset.run(ALLOW_PATTERNS="only/*")
    assert dataset.files() == {"only/b.bin": b"b"}


def test_a_link_on_the_volume_is_no_way_out(right: Mapping[str, str], tmp_path: Path) -> None:
    link = tmp_path / "dataset" / "only"
    link.parent.mkdir()
    link.symlink_to(tmp_path)
    outcome = Initializer(tmp_path, right).run(1)
    assert outcome.errors == f"dataset: {link}: is a link out of the target folder; remove it\n"
    assert not (tmp_path / "b.bin").exists()


def test_a_volume_that_is_too_small_is_said_before_the_download(
    right: Mapping[str, str], s3: S3Server, tmp_path: Path
) -> None:
    huge = s3.buckets / "failures-huge"
    huge.mkdir()
    with (huge / "sparse").open("wb") as file:
        file.truncate(1 << 43)
    outcome = Initializer(tmp_path, right).run(1, STORAGE_URI="s3://failures-huge")
    assert "no space left: 8.0 TiB are to come and " in outcome.errors
    assert "; use a larger volume, or leave files out with IGNORE_PATTERNS\n" in outcome.errors


def test_a_volume_that_cannot_be_written_says_by_whom(
    right: Mapping[str, str], tmp_path: Path
) -> None:
    """The kernel lets no user make a folder in /sys, root included."""
    outcome = Initializer(tmp_path, right).run(
        1, TRAINER_INFRA_MOUNTS=json.dumps({"/workspace": "/sys/kernel"})
    )
    said = f"; let user {os.getuid()} write the volume, with an fsGroup of the pod\n"
    assert outcome.errors.startswith("dataset: /sys/kernel/.trainer-infra-dataset: ")
    assert outcome.errors.endswith(said)


def test_a_package_that_is_missing_is_named(right: Mapping[str, str], tmp_path: Path) -> None:
    """As on a machine with no more than the package itself."""
    (tmp_path / "obstore.py").write_text("raise ModuleNotFoundError(name='obstore')")
    dataset = Initializer(tmp_path, {**right, "PYTHONPATH": str(tmp_path)})
    outcome = end_of(dataset.start())
    assert outcome.code == 1, outcome
    said = "s3:// needs the package obstore, which is not installed here"
    assert outcome.errors.endswith(f": {said}; run `{own_place.install_command('initializers')}`\n")
    (tmp_path / "words").write_text("w")
    outcome = end_of(dataset.start(STORAGE_URI=f"file://{tmp_path / 'words'}"))
    assert outcome.code == 0, outcome


@pytest.mark.soak
def test_a_server_that_is_silent_ends_in_a_failure(
    right: Mapping[str, str], places: Mapping[str, str], tmp_path: Path
) -> None:
    outcome = Initializer(tmp_path, right).run(
        1, ENDPOINT=f"http://127.0.0.1:{places['silent']}", ATTEMPTS="1"
    )
    said = "its server does not answer in time; see whether this pod may reach it"
    assert outcome.errors == f"dataset: s3://{places['bucket']}: {said}\n"


def test_a_report_goes_to_the_controllers_file_until_it_fails(
    right: Mapping[str, str], tmp_path: Path
) -> None:
    message = tmp_path / "termination-log"
    Initializer(tmp_path, {**right, "TRAINER_INFRA_REPORT": str(message)}).run()
    status = json.loads(message.read_text())
    assert status["progressPercentage"] == 100
    assert status["metrics"] == [{"name": "initializer", "value": "dataset"}]
