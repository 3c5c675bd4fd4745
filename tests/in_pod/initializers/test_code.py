"""A job's code on its way: the provider puts it into a store, and an initializer fetches it."""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from from_source.cluster.versitygw import REGION, S3Server
from tests.in_pod.initializers.initializer_process import Initializer
from trainer_infra.deploy.operations import code_upload
from trainer_infra.errors import NotAvailable
from trainer_infra.trainers.custom import stored_code
from trainer_infra.trainers.custom.stored_code import CodeStore

FILES = {
    "main.py": "print(1)\n",
    "deep/ü.txt": "b",
    "weights.bin": (bytes(range(256)) * 40_000).decode(*stored_code.BYTES),
}
Fetch = Callable[[str], Initializer]


@pytest.fixture
def person(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The machine of a person with AWS's variables, and a cache."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    variables = {
        "TRAINER_INFRA_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": s3.access_key,
        "AWS_SECRET_ACCESS_KEY": s3.secret_key,
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": s3.url,
        # Of something else on this machine.
        "ENDPOINT": "http://127.0.0.1:1",
        "ACCESS_KEY_ID": "another",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def fetch(s3: S3Server, tmp_path: Path) -> Fetch:
    """Makes the initializer of a pod for an address."""

    def make(address: str) -> Initializer:
        volume = tmp_path / "volume"
        mounts = json.dumps({"/opt/trainer-infra/source": str(volume / "code")})
        own = {"STORAGE_URI": address, "TRAINER_INFRA_MOUNTS": mounts}
        return Initializer(volume, {**s3.environment, **own}, "code")

    return make


def contents() -> dict[str, bytes]:
    return {path: text.encode(*stored_code.BYTES) for path, text in sorted(FILES.items())}


def test_code_goes_through_a_bucket_whole(
    person: pytest.MonkeyPatch, bucket: Path, fetch: Fetch
) -> None:
    address = CodeStore(f"s3://{bucket.name}/team/code").kept(FILES).address
    assert not any(bucket.rglob("*.tar"))
    code_upload.upload(address)
    (kept,) = bucket.rglob("*.tar")
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == kept.stem

    pod = fetch(address)
    pod.run()
    assert pod.files() == contents()
    assert "nothing to do" in pod.run().output

    # What is there is not sent again: this machine need not even have it.
    before = kept.stat()
    person.setenv("TRAINER_INFRA_CACHE", "/nowhere")
    code_upload.upload(address)
    assert kept.stat() == before


def test_what_was_changed_in_the_store_is_not_run(
    person: pytest.MonkeyPatch, bucket: Path, fetch: Fetch
) -> None:
    del person
    address = CodeStore(f"s3://{bucket.name}").kept(FILES).address
    code_upload.upload(address)
    (kept,) = bucket.rglob("*.tar")
    content = kept.read_bytes()
    kept.write_bytes(content.replace(b"print(1)", b"print(2)"))
    ended = fetch(address).run(code=1)
    assert "arrived damaged" in ended.errors
    kept.unlink()
    assert "there is no folder and no file of that name" in fetch(address).run(code=1).errors
    another = fetch(f"s3://{bucket.name}")
    (bucket / "main.py").write_text("")
    assert "is not the code of a job, named by its sha256" in another.run(code=1).errors


def test_what_the_store_refuses_is_said_with_a_remedy(
    person: pytest.MonkeyPatch, bucket: Path
) -> None:
    address = CodeStore(f"s3://{bucket.name}").kept(FILES).address
    missing = CodeStore("s3://no-such-bucket-here").kept(FILES).address
    with pytest.raises(NotAvailable, match="there is no bucket no-such-bucket-here"):
        code_upload.upload(missing)
    person.setenv("AWS_SECRET_ACCESS_KEY", "wrong-key-of-a-user")
    with pytest.raises(NotAvailable) as caught:
        code_upload.upload(address)
    assert "the credentials are refused" in str(caught.value)
    assert "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in str(caught.value)
    assert "wrong-key" not in str(caught.value)


def test_a_profile_of_the_user_is_read(
    person: pytest.MonkeyPatch, s3: S3Server, bucket: Path, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        person.delenv(name)
    person.setenv("AWS_PROFILE", "team")
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        f"[team]\naws_access_key_id = {s3.access_key}\naws_secret_access_key = {s3.secret_key}\n"
    )
    (tmp_path / ".aws" / "config").write_text(f"[profile team]\nregion = {REGION}\n")
    code_upload.upload(CodeStore(f"s3://{bucket.name}").kept(FILES).address)
    assert any(bucket.rglob("*.tar"))
    person.setenv("AWS_PROFILE", "nobody")
    other = CodeStore(f"s3://{bucket.name}").kept({"a.py": ""}).address
    with pytest.raises(NotAvailable, match=r"AWS's settings cannot be used: .*nobody"):
        code_upload.upload(other)


def test_a_machine_without_the_extra_is_told(person: pytest.MonkeyPatch, bucket: Path) -> None:
    address = CodeStore(f"s3://{bucket.name}").kept(FILES).address
    for name in [each for each in sys.modules if each.startswith("obstore")]:
        person.delitem(sys.modules, name)
    person.delitem(sys.modules, "trainer_infra.in_pod.initializers.sources.s3", raising=False)
    person.delitem(
        sys.modules, "trainer_infra.in_pod.initializers.sources.object_store", raising=False
    )
    person.setitem(sys.modules, "obstore", None)
    person.setitem(sys.modules, "httpx2", None)
    with pytest.raises(NotAvailable, match=r"run `pip install .*\[initializers\]"):
        code_upload.upload(address)


def test_a_shared_folder_gets_it_once_and_whole(
    person: pytest.MonkeyPatch, tmp_path: Path, fetch: Fetch
) -> None:
    store = tmp_path / "a store"
    address = CodeStore(store.as_uri()).kept(FILES).address
    threads = [Thread(target=code_upload.upload, args=(address,)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    (kept,) = store.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o644
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == kept.stem
    pod = fetch(address)
    pod.run()
    assert pod.files() == contents()

    kept.unlink()
    person.setenv("TRAINER_INFRA_CACHE", str(tmp_path / "empty"))
    with pytest.raises(NotAvailable, match="is gone; run `pulumi up` again, which makes it"):
        code_upload.upload(address)
    (tmp_path / "file").write_text("")
    person.setenv("TRAINER_INFRA_CACHE", str(tmp_path / "cache"))
    with pytest.raises(NotAvailable, match="cannot be kept at file:"):
        code_upload.upload(CodeStore((tmp_path / "file" / "x").as_uri()).kept(FILES).address)
