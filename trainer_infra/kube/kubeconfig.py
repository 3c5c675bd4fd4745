"""Where the API server is and who we are to it: a kubeconfig, or a pod's service account.

Reading, merging and signing in are those of the `kubernetes` package, of which nothing else is
used; it is imported with the first connection. What it leaves out is added here: the first file's
current context counts, as for kubectl; impersonation; a plugin's failure is an error. No key or
token is in an error's message.
"""

import importlib
import ipaddress
import logging
import os
import ssl
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml
from typing_extensions import override

from trainer_infra.errors import NotAvailable
from trainer_infra.kube.kubeconfig_context import is_text

_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_PROXY_SCHEMES: Final = ("http", "https")

_reading: Final = threading.Lock()
"""The library keeps the files that it writes keys to in one table of the process."""


@dataclass(frozen=True, slots=True)
class SignedServer:
    """A server and how requests to it are signed; its headers may hold a token."""

    server: str
    """`https://<host>[:<port>][/<path>]`."""
    headers: Mapping[str, str] = field(repr=False)
    """`Authorization` and `Impersonate-*`, where there are any."""
    tls: ssl.SSLContext | None = None
    """Authorities, and our certificate where we have one; None for plain HTTP."""
    tls_name: str | None = None
    """The name in the server's certificate where it is not the host's."""
    proxy: str | None = None
    """The proxy's URL."""


class KubeconfigSession:
    """One reading of a kubeconfig; not safe for concurrent calls."""

    def __init__(self, configuration: Any, user: Mapping[str, Any]) -> None:
        _judge_server(str(configuration.host))
        self.server: Final = str(configuration.host).rstrip("/")
        """The server's URL."""
        self._configuration = configuration
        self._user = user
        self._tls = _tls(configuration)
        self._proxy = _proxy(configuration)

    def endpoint(self) -> SignedServer:
        """Where and who, now: a token about to expire is renewed, which may run a process.

        Raises:
            NotAvailable: A plugin fails, or what is known of the user cannot be sent.
        """
        held = self._configuration
        signed = held.auth_settings().get("BearerToken", {}).get("value")
        headers = {"Authorization": signed} if signed else {}
        headers |= dict(_impersonation(self._user))
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):
                raise NotAvailable(
                    f"the credentials of {self.server} cannot be sent as header {name}: they hold "
                    "a line break or another character that headers cannot; correct the kubeconfig"
                )
        return SignedServer(self.server, headers, self._tls, held.tls_server_name, self._proxy)


def read_kubeconfig(kubeconfig: str | None, context: str | None) -> KubeconfigSession:
    """Read where the server is and sign in, which may run a process.

    Args:
        kubeconfig: one path or several (`os.pathsep`); the YAML text itself, which has several
            lines or begins with `{`; None for KUBECONFIG, then `~/.kube/config`, then the
            service account of the pod that this process runs in.
        context: name of a context; None for the current one.

    Raises:
        NotAvailable: There is none, or it cannot be used.
        ModuleNotFoundError: The library is not there.
    """
    source = kubeconfig or os.environ.get("KUBECONFIG") or _default()
    try:
        with _reading:
            if source is None:
                # A pod may have no folder to write into.
                return _in_pod()
            with tempfile.TemporaryDirectory(prefix="trainer-infra-") as folder:
                return _loaded(source, context, folder)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise NotAvailable(f"{_shown(source)} is not YAML{place}") from None
    except (TypeError, AttributeError):
        # The library's own words are about Python's types.
        raise NotAvailable(
            f"{_shown(source)} cannot be used: it is not a kubeconfig, or a field has another type"
        ) from None
    except (OSError, ValueError, LookupError) as error:
        raise NotAvailable(f"{_shown(source)} cannot be used: {error}") from None


def _default() -> str | None:
    """The user's own kubeconfig; None in a pod without one.

    Raises:
        NotAvailable: There is none, and this is not a pod.
    """
    file = Path.home() / ".kube" / "config"
    if file.exists():
        return str(file)
    if _IN_CLUSTER in os.environ:
        return None
    raise NotAvailable(
        f"there is no cluster to talk to: no kubeconfig is given, KUBECONFIG is not set and {file} "
        "does not exist; set KUBECONFIG to a kubeconfig's path"
    )


def _in_pod() -> KubeconfigSession:
    made = _configuration()
    library = importlib.import_module("kubernetes.config")
    try:
        library.load_incluster_config(made)
    except library.ConfigException as error:
        raise ValueError(str(error)) from None
    return KubeconfigSession(made, {})


def _loaded(source: str, context: str | None, folder: str) -> KubeconfigSession:
    """A session of a kubeconfig; the library's key files go to `folder` and with it."""
    made, library = _configuration(), importlib.import_module("kubernetes.config.kube_config")
    with _logged() as said:
        # Relative paths begin in this folder for a text, else in each file's own.
        base = "" if is_text(source) else None
        try:
            config, current = _merged(source, library)
            library.KubeConfigLoader(
                config, context or current, config_base_path=base, temp_file_path=folder
            ).load_and_set(made)
            user = _part("user", config, context or current)
            # Older releases of the library do not read it.
            made.proxy = _part("cluster", config, context or current).get("proxy-url")
        except library.ConfigException as error:
            # Some messages quote a whole user, token and all, as a dictionary.
            raise ValueError(str(error).split("{", 1)[0]) from None
    if "exec" in user and not (made.api_key or made.cert_file):
        raise NotAvailable(
            f"the exec plugin `{user['exec'].get('command')}` of {_shown(source)} gives no "
            f"credentials: {'; '.join(said) or 'it says nothing'}"
        )
    return KubeconfigSession(made, user)


def _configuration() -> Any:
    """The library's settings, without its proxies from the environment (see `_proxy`)."""
    made = importlib.import_module("kubernetes.client").Configuration()
    made.proxy = made.no_proxy = None
    return made


def _shown(source: str | None) -> str:
    if source is None:
        return "the service account of this pod"
    return "the kubeconfig" if is_text(source) else f"the kubeconfig {source}"


def _merged(source: str, library: Any) -> tuple[Any, str | None]:
    """The library's node of a text or of all files, and the current context.

    That is the one of the first file that names one, as for kubectl.
    """
    if is_text(source):
        read = yaml.load(source, yaml.CSafeLoader)
        return library.ConfigNode("kubeconfig", read), read.get("current-context")
    merger = library.KubeConfigMerger(source)
    if merger.config is None:
        raise NotAvailable(f"{_shown(source)} does not exist")
    named = (each.get("current-context") for each in merger.config_files.values())
    return merger.config, next(filter(None, named), None)


def _part(part: str, config: Any, context: str | None) -> Mapping[str, Any]:
    """The context's `user` or `cluster` as it is written; empty where it has none."""
    chosen = context or config["current-context"]
    name = config["contexts"].get_with_name(chosen)["context"].safe_get(part)
    found = config[f"{part}s"].get_with_name(name, safe=True) if name else None
    return {} if found is None else dict(found[part].value)


def _impersonation(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Headers for `as` and `as-uid`; several groups cannot be told in one header."""
    if user.get("as-groups") or user.get("as-user-extra"):
        raise NotAvailable(
            "the kubeconfig's user has `as-groups` or `as-user-extra`, which is not supported; "
            "give the user these rights by itself"
        )
    for key, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.get(key):
            yield header, str(user[key])


def _judge_server(url: str) -> None:
    try:
        place = urlsplit(url)
        fits = place.scheme in {"http", "https"} and place.hostname and place.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"its server {url!r} is not a URL; write https://<host>:<port>")


def _tls(held: Any) -> ssl.SSLContext | None:
    if not held.host.startswith("https"):
        return None
    try:
        made = ssl.create_default_context(cafile=held.ssl_ca_cert)
    except ssl.SSLError:
        raise ValueError("its certificate-authority holds no certificate in PEM") from None
    # Go accepts authorities without the extensions that Python 3.13 wants, and clusters have them.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not held.verify_ssl:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if held.cert_file:
        try:
            made.load_cert_chain(held.cert_file, held.key_file)
        except ssl.SSLError:
            raise ValueError(
                "its client-certificate and client-key are not PEM, or do not belong to each other"
            ) from None
    return made


def _proxy(held: Any) -> str | None:
    """The kubeconfig's proxy, else the environment's; none to this machine, as in Go."""
    place = urlsplit(held.host)
    host = place.hostname or ""
    found = held.proxy
    if not found and not _is_loopback(host):
        found = None if proxy_bypass(place.netloc) else getproxies().get(place.scheme)
    if found and urlsplit(found).scheme not in _PROXY_SCHEMES:
        raise NotAvailable(
            f"the proxy of {held.host} is of the kind {urlsplit(found).scheme!r}; "
            "only http and https proxies are supported"
        )
    return found or None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _KeptLog(logging.Handler):
    """Keeps what one thread logs: the library logs a plugin's failure instead of raising it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []
        self._thread = threading.get_ident()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.said.append(record.getMessage())


@contextmanager
def _logged() -> Iterator[list[str]]:
    """What this thread logs as errors meanwhile."""
    kept = _KeptLog()
    logging.getLogger().addHandler(kept)
    try:
        yield kept.said
    finally:
        logging.getLogger().removeHandler(kept)
