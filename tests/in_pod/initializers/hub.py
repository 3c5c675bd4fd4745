"""A server of the Hub's protocol: the routes that huggingface_hub calls, with real Git and SHA-256 digests.

Answers are those of huggingface.co as `huggingface_hub` reads them: `X-Error-Code` says why, a
large file is a redirect to another host with its bytes, and a token goes to none but the first.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from tests.in_pod.initializers.web_server import Answer, WebServer, range_answer

LARGE = 1 << 20
"""Bytes from which on a file is not in Git itself."""
PAGE = 100
"""Files of one page of a tree."""
TOKEN = "hf_a-token-of-the-tests"
ROUTES = tuple(
    re.compile(each)
    for each in (
        "/api/(?P<kind>models|datasets)/(?P<name>.+)/(?:revision|tree)/(?P<revision>[^/]+)",
        "/api/(?P<kind>models|datasets)/(?P<name>[^/]+(?:/[^/]+)?)",
        "/(?P<kind>datasets)/(?P<name>.+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)",
        "/(?P<name>.+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)",
    )
)


@dataclass(frozen=True)
class Repository:
    """A dataset or a model, with one commit for each revision."""

    files: Mapping[str, bytes]
    revisions: Mapping[str, str] = field(default_factory=lambda: {"main": "c" * 40})
    is_private: bool = False
    is_gated: bool = False


class Hub:
    """One that runs; `repositories` is by `models/<name>` or `datasets/<name>`."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}

        self.blobs: dict[str, bytes] = {}
        self.damages = False
        self.hub = WebServer(self._answer)
        self.cdn = WebServer(self._blob)
        self.url = self.hub.url
        self.cdn_url = self.cdn.url.replace("127.0.0.1", "localhost")

    def __enter__(self) -> Self:
        self.hub.__enter__()
        self.cdn.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.hub.__exit__()
        self.cdn.__exit__()

    def _answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        given, url = headers.get("Authorization"), urlsplit(path)
        if given not in {None, f"Bearer {TOKEN}"}:
            said = "Invalid credentials in Authorization header"
            return Answer(401, headers={"X-Error-Message": said})
        routes = (each.fullmatch(url.path) for each in ROUTES)
        route = next((each.groupdict() for each in routes if each), {"name": "none of ours"})
        repository = self.repositories.get(f"{route.get('kind', 'models')}/{route['name']}")
        if repository is None or (repository.is_private and not given):
            return Answer(404 if given else 401, headers={"X-Error-Code": "RepoNotFound"})
        commits = {**repository.revisions, **{each: each for each in repository.revisions.values()}}
        commit = commits.get(unquote(route.get("revision", "main")))
        if commit is None:
            return Answer(404, headers={"X-Error-Code": "RevisionNotFound"})
        if "file" in route:
            return self._resolve(repository, unquote(route["file"]), headers)
        if "/tree/" in url.path:
            return self._tree(repository, url.query, url.path)
        return _json({"id": route["name"], "sha": commit, "private": repository.is_private})

    def _tree(self, repository: Repository, query: str, path: str) -> Answer:
        start = int(parse_qs(query).get("cursor", ["0"])[0])
        names = sorted(repository.files)
        entries = [_entry(name, repository.files[name]) for name in names[start : start + PAGE]]
        answer = _json(entries)
        if start + PAGE < len(names):
            after = f"{self.url}{path}?recursive=True&cursor={start + PAGE}"
            answer.headers["Link"] = f'<{after}>; rel="next"'
        return answer

    def _resolve(self, repository: Repository, name: str, headers: Mapping[str, str]) -> Answer:
        if repository.is_gated and not headers.get("Authorization"):
            return Answer(401, headers={"X-Error-Code": "GatedRepo"})
        content = repository.files.get(name)
        if content is None:
            return Answer(404, headers={"X-Error-Code": "EntryNotFound"})
        if len(content) < LARGE:
            return range_answer(content, headers)
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return Answer(
            302, headers={"Location": f"{self.cdn_url}/{digest}?Signature=secret-signature"}
        )

    def _blob(self, path: str, headers: Mapping[str, str]) -> Answer:
        if "Authorization" in headers:
            return Answer(400)
        content = self.blobs[urlsplit(path).path[1:]]
        return range_answer(b"?" + content[1:] if self.damages else content, headers)


def _entry(name: str, content: bytes) -> dict[str, Any]:
    oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    entry = {"type": "file", "oid": oid, "size": len(content), "path": name}
    if len(content) < LARGE:
        return entry
    digest = hashlib.sha256(content).hexdigest()
    return {
        **entry,
        "oid": "0" * 40,
        "lfs": {"oid": digest, "size": len(content), "pointerSize": 134},
    }


def _json(value: object) -> Answer:
    return Answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})
