"""Where the server is and who we are, from every kind of kubeconfig."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kube.certificate import self_signed
from trainer_infra.errors import NotAvailable
from trainer_infra.kube import kubeconfig
from trainer_infra.kube.kubeconfig import SignedServer

ROOT = Path(__file__).resolve().parents[2]
JSON = dict[str, Any]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's own: no kubeconfig, no proxy, no pod."""
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name.startswith(("KUBECONFIG", "KUBERNETES_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def config(user: JSON | None = None, cluster: JSON | None = None, context: str = "x") -> JSON:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://host:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
        "current-context": context,
    }


def endpoint(source: JSON | str | None, context: str | None = None) -> SignedServer:
    text = json.dumps(source) if isinstance(source, dict) else source
    return kubeconfig.read_kubeconfig(text, context).endpoint()


def signed(user: JSON) -> str:
    return endpoint(config(user)).headers["Authorization"]


def write(file: Path, value: JSON) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(value))
    return str(file)


def plugin(tmp_path: Path, program: str) -> JSON:
    """A user whose credentials a program prints."""
    file = tmp_path / "plugin.py"
    file.write_text(program)
    version = "client.authentication.k8s.io/v1"
    command = {"command": sys.executable, "args": [str(file)], "apiVersion": version}
    return {"exec": {**command, "interactiveMode": "Never"}}


def printing(**status: Any) -> str:
    version = "client.authentication.k8s.io/v1"
    said = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(said)!r})"


def test_a_text_is_read_as_yaml_and_as_json() -> None:
    for text in (json.dumps(config()), yaml.safe_dump(config())):
        found = endpoint(text)
        assert (found.server, dict(found.headers)) == (
            "https://host:6443",
            {"Authorization": "Bearer t"},
        )


def test_no_token_is_in_what_is_printed_of_an_endpoint() -> None:
    assert "Bearer" not in repr(endpoint(config()))


def test_kubeconfig_comes_before_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "home" / ".kube" / "config", config({"token": "home"}))
    assert endpoint(None).headers["Authorization"] == "Bearer home"
    named = write(tmp_path / "named", config({"token": "named"}))
    monkeypatch.setenv("KUBECONFIG", named)
    assert endpoint(None).headers["Authorization"] == "Bearer named"


def test_several_files_are_merged_and_the_first_current_context_counts(tmp_path: Path) -> None:
    first = write(tmp_path / "1", config({"token": "first"}, context="one"))
    second = config({"token": "second"}, context="two")
    second["users"][0]["name"] = "v"
    second["contexts"][0]["context"]["user"] = "v"
    paths = os.pathsep.join([first, str(tmp_path / "none"), write(tmp_path / "2", second)])

    assert endpoint(paths).headers["Authorization"] == "Bearer first"
    assert endpoint(paths, "two").headers["Authorization"] == "Bearer second"


def test_a_context_that_is_not_there_is_named() -> None:
    with pytest.raises(NotAvailable, match="object with name other in"):
        endpoint(config(), "other")


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match="set KUBECONFIG to a kubeconfig's path"):
        endpoint(None)
    with pytest.raises(NotAvailable, match="none does not exist"):
        endpoint(str(tmp_path / "none"))


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(
    "break_it",
    [
        lambda made: made["clusters"][0].pop("cluster"),
        lambda made: made["clusters"][0].pop("name"),
        lambda made: made["users"][0].pop("name"),
        lambda made: made["contexts"][0]["context"].pop("cluster"),
        lambda made: made.update(contexts=3),
        lambda made: made.update(users={"user": {"token": "secret-token"}}),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_does_not_show_its_tokens(
    tmp_path: Path, break_it: Callable[[JSON], object], as_file: bool
) -> None:
    made = config({"token": "secret-token"})
    break_it(made)
    with pytest.raises(NotAvailable) as refused:
        endpoint(write(tmp_path / "c", made) if as_file else json.dumps(made))

    assert "secret-token" not in str(refused.value)
    assert "cannot be used" in str(refused.value)


def test_a_text_that_is_no_yaml_does_not_show_its_tokens() -> None:
    with pytest.raises(NotAvailable) as refused:
        endpoint("users:\n- user: {token: secret-token\nclusters: ]")

    assert "is not YAML at line 3" in str(refused.value)
    assert "secret-token" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("[1]\n", "it is not a kubeconfig, or a field has another type"),
        ("one\ntwo\n", "it is not a kubeconfig, or a field has another type"),
        ("a: \x01\n", "the kubeconfig is not YAML"),
        (config(cluster={"server": "127.0.0.1:6443"}), "is not a URL; write https://<host>:<port>"),
        (config(cluster={"server": "ftp://a"}), "its server 'ftp://a' is not a URL"),
        (
            config(cluster={"server": "https://a:99999"}),
            "its server 'https://a:99999' is not a URL",
        ),
        (config(cluster={"server": "https://a:b"}), "its server 'https://a:b' is not a URL"),
        (config(cluster={"server": "https://["}), "its server 'https://[' is not a URL"),
        (config({"token": "secret\ntoken"}), "cannot be sent as header Authorization"),
        (config({"token": "secret\u2192token"}), "cannot be sent as header Authorization"),
        (config({"token": "t", "as": "a\nb"}), "cannot be sent as header Impersonate-User"),
        (
            config(cluster={"certificate-authority-data": "bm9uZQ=="}),
            "its certificate-authority holds no certificate in PEM",
        ),
        (
            config({"client-certificate-data": "bm9uZQ==", "client-key-data": "bm9uZQ=="}),
            "its client-certificate and client-key are not PEM, or do not belong to each other",
        ),
    ],
)
def test_what_cannot_be_a_kubeconfig_is_said_in_words(source: JSON | str, said: str) -> None:
    with pytest.raises(NotAvailable) as refused:
        endpoint(source)

    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "object at" not in str(refused.value)


def test_a_token_file_is_read_again_with_the_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    assert signed({"tokenFile": str(file)}) == "Bearer one"
    file.write_text("two")
    assert signed({"tokenFile": str(file)}) == "Bearer two"


def test_a_name_and_password_are_sent_as_such() -> None:
    coded = base64.b64encode(b"name:word").decode()
    assert signed({"username": "name", "password": "word"}) == f"Basic {coded}"


def test_an_exec_plugin_gives_the_token(tmp_path: Path) -> None:
    assert signed(plugin(tmp_path, printing(token="p"))) == "Bearer p"


def test_a_token_of_a_plugin_that_expires_is_renewed(tmp_path: Path) -> None:
    soon = (datetime.now(UTC) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    count = tmp_path / "count"
    count.write_text("0")
    program = (
        "import json, pathlib\n"
        f"file = pathlib.Path({str(count)!r})\n"
        "number = int(file.read_text()) + 1\n"
        "file.write_text(str(number))\n"
        "status = {'token': f'p{number}', 'expirationTimestamp': %r}\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',"
        " 'kind': 'ExecCredential', 'status': status}))\n"
    ) % soon
    session = kubeconfig.read_kubeconfig(json.dumps(config(plugin(tmp_path, program))), None)
    first, second = (session.endpoint().headers["Authorization"] for _ in range(2))

    assert int(second[8:]) == int(first[8:]) + 1


def test_a_plugin_that_fails_is_an_error_with_its_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = plugin(tmp_path, "import sys; sys.exit('log in first')")
    with pytest.raises(NotAvailable, match=r"gives no credentials: .*log in first"):
        endpoint(config(broken))

    assert capfd.readouterr().err == ""


def test_a_plugin_that_is_not_there_is_an_error() -> None:
    version = "client.authentication.k8s.io/v1"
    user = {"exec": {"command": "no-such-plugin", "apiVersion": version}}
    with pytest.raises(NotAvailable, match="`no-such-plugin` of the kubeconfig"):
        endpoint(config(user))


def test_a_client_certificate_is_used_and_its_key_leaves_no_file(tmp_path: Path) -> None:
    made, key = (base64.b64encode(each).decode() for each in self_signed("admin"))
    user = {"client-certificate-data": made, "client-key-data": key}
    for _ in range(2):
        found = endpoint(config(user, {"certificate-authority-data": made}))
        assert found.tls is not None
        assert found.headers == {}

    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_files_named_in_a_kubeconfig_are_beside_it(tmp_path: Path) -> None:
    made, _ = self_signed("admin")
    (tmp_path / "ca.crt").write_bytes(made)
    path = write(tmp_path / "config", config(cluster={"certificate-authority": "ca.crt"}))

    found = endpoint(path).tls
    assert found is not None
    assert found.cert_store_stats()["x509"] == 1


def test_a_clusters_tls_settings_are_kept() -> None:
    found = endpoint(config(cluster={"tls-server-name": "other", "insecure-skip-tls-verify": True}))

    assert found.tls_name == "other"
    assert found.tls is not None
    assert found.tls.verify_mode == 0
    assert not found.tls.check_hostname


def test_a_user_is_impersonated(tmp_path: Path) -> None:
    path = write(tmp_path / "c", config({"token": "t", "as": "alice", "as-uid": "1"}))

    assert endpoint(path).headers == {
        "Authorization": "Bearer t",
        "Impersonate-User": "alice",
        "Impersonate-Uid": "1",
    }
    with pytest.raises(NotAvailable, match="as-groups"):
        endpoint(config({"token": "t", "as": "alice", "as-groups": ["admins"]}))


@pytest.mark.parametrize(
    ("server", "no_proxy", "used"),
    [
        ("https://host:6443", "", "http://proxy:3128"),
        ("https://host:6443", "other,host", None),
        ("https://127.0.0.1:6443", "", None),
        ("https://localhost:6443", "", None),
    ],
)
def test_the_environments_proxy_is_used_except_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, server: str, no_proxy: str, used: str | None
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)

    assert endpoint(config(cluster={"server": server})).proxy == used


def test_the_kubeconfigs_proxy_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")

    assert endpoint(config(cluster={"proxy-url": "http://own:1"})).proxy == "http://own:1"
    with pytest.raises(NotAvailable, match="'socks5'"):
        endpoint(config(cluster={"proxy-url": "socks5://own:1"}))


def test_in_a_pod_without_a_service_account_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(NotAvailable, match="service account of this pod cannot be used"):
        endpoint(None)


def test_nothing_of_it_is_imported_before_a_connection_is_made() -> None:
    program = (
        "import sys\n"
        "import trainer_infra.kube.http, trainer_infra.kube.loop\n"
        "heavy = {'kubernetes', 'aiohttp', 'ssl', 'requests'} & set(sys.modules)\n"
        "print(sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "['ssl']\n"
