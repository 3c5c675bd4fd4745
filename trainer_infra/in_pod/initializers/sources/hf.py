"""`hf://ORGANIZATION/NAME[@REVISION]`: a dataset or a model of the Hugging Face Hub, or of HF_ENDPOINT.

`huggingface_hub` lists and resolves. The bytes come in ranges of ours: its own download begins a
file of several gigabytes anew, or resumes it on one connection.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import huggingface_hub
from huggingface_hub import errors
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # it is public
from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure, connection_failure
from trainer_infra.in_pod.initializers.listing import FileListing, FileSource, RemoteFile
from trainer_infra.in_pod.initializers.patterns import wanted_files
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources import http_ranges
from trainer_infra.in_pod.initializers.storage_uri import hub_repository

TOKEN = "set ACCESS_TOKEN to a token of an account that may read it"  # noqa: S105  a sentence


class HubSource(FileSource):
    """Files of a repository at one commit."""

    def __init__(self, settings: InitializerSettings) -> None:
        self.settings = settings
        self.shown = settings.uri.shown
        self.repository, self.revision = hub_repository(settings.uri, settings.kind)
        token = settings.variable("ACCESS_TOKEN", "HF_TOKEN").strip()
        self.headers = http_ranges.bearer(token)
        self.client = http_ranges.new_client()
        huggingface_hub.set_client_factory(http_ranges.new_client)
        self.hub = huggingface_hub.HfApi(token=token or False)

    @override
    def list_files(self) -> FileListing:
        """Files of the commit that the revision stands for now."""
        kind, name = self.settings.kind, self.repository
        with http_ranges.readable(self.shown, "a Hub's"):
            try:
                found = self.hub.repo_info(name, repo_type=kind, revision=self.revision)
                commit = found.sha or ""
                tree = [
                    *self.hub.list_repo_tree(name, recursive=True, revision=commit, repo_type=kind)
                ]
            except (errors.HFValidationError, httpx2.HTTPError) as error:
                raise self._failure(error, self.shown) from None
        files = [
            self._file(each, commit) for each in tree if isinstance(each, huggingface_hub.RepoFile)
        ]
        wanted, remark = wanted_files(
            self.shown, self.settings.patterns, files, lambda each: (each.path,)
        )
        return FileListing(tuple(wanted), commit, remark)

    @override
    def read(self, file: RemoteFile, start: int, end: int | None) -> Iterator[bytes]:
        """Bytes of a file, wherever the Hub says that they are."""
        place = f"{self.shown}: {file.path}"
        headers = {**self.headers, **http_ranges.range_header(start, end)}
        with http_ranges.asked(self.client, place, file.location, headers) as answer:
            if answer.status_code not in {http_ranges.PARTIAL, http_ranges.WHOLE}:
                answer.read()
                try:
                    hf_raise_for_status(answer)
                except errors.HfHubHTTPError as error:
                    raise self._failure(error, place) from None
            yield from http_ranges.read_range(answer, place, start, end)

    def _file(self, found: huggingface_hub.RepoFile, commit: str) -> RemoteFile:
        url = huggingface_hub.hf_hub_url(
            self.repository, found.path, repo_type=self.settings.kind, revision=commit
        )
        return RemoteFile(
            path=found.path,
            size=found.size,
            location=url,
            validator=found.blob_id,
            checksum=f"sha256:{found.lfs.sha256}" if found.lfs else f"git:{found.blob_id}",
        )

    def _failure(self, error: Exception, place: str) -> DownloadFailure:
        """What an error of huggingface_hub means; its text has URLs, so only its kind is shown."""
        cause, remedy = next(
            (words for kind, words in self._words().items() if isinstance(error, kind)), ("", "")
        )
        if cause:
            return DownloadFailure(place, cause, remedy)
        if not isinstance(error, errors.HfHubHTTPError):
            return connection_failure(place, http_ranges.causes_text(error))
        if error.response.status_code == httpx2.codes.UNAUTHORIZED:
            return DownloadFailure(place, "the Hub refuses ACCESS_TOKEN", "set it to a valid token")
        if error.response.status_code == httpx2.codes.FORBIDDEN:
            return DownloadFailure(place, "the token has no permission for it", TOKEN)
        return http_ranges.refused(error.response, place)

    def _words(self) -> dict[type[Exception], tuple[str, str]]:
        """Cause and remedy of errors, the more special ones first."""
        kind, has_token = self.settings.kind, bool(self.headers)
        whose = "that ACCESS_TOKEN may see" if has_token else "that is public"
        private = "" if has_token else f"; if it is private, {TOKEN}"
        return {
            errors.HFValidationError: (
                f"{self.repository!r} is not a name of a {kind}",
                "write hf://ORGANIZATION/NAME",
            ),
            errors.GatedRepoError: (
                f"the {kind} is gated",
                "ask for access on its page"
                + (" with the account of ACCESS_TOKEN" if has_token else f", and {TOKEN}"),
            ),
            errors.RevisionNotFoundError: (
                f"the {kind} has no revision {self.revision or 'main'!r}",
                "name a branch, a tag or a commit after @",
            ),
            errors.RepositoryNotFoundError: (
                f"the Hub has no {kind} {self.repository} {whose}",
                f"see whether the URI is right{private}",
            ),
            errors.RemoteEntryNotFoundError: (
                "the Hub does not have the file that it lists",
                "start again",
            ),
        }


open_source = HubSource
