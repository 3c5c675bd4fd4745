"""Who reports: the pod that a token is bound to, by the API server's word.

Mounted by `status_server`, once for each client address. KEP-2779 asked for all of this, and the
reference does not do it: a TokenReview with the TrainJob's audience, a token that is bound to a pod of a
service account of the namespace, and a pod that is part of the TrainJob (`pod_membership` says which
lies that stops).

A token is not kept longer than its request, and stands in no log and no error: what is kept is its hash.
"""

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from trainer_infra.controller.answer_cache import AnswerCache
from trainer_infra.controller.pod_membership import PodIdentity, PodMembership
from trainer_infra.controller.report_rate import TokenBuckets, check_rate
from trainer_infra.errors import NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Unreachable
from trainer_infra.kube.resource import TOKEN_REVIEW
from trainer_infra.names import FIELD_MANAGER
from trainer_infra.progress import handler
from trainer_infra.progress.handler import Authenticator, Reporter

POD_NAME: Final = "authentication.kubernetes.io/pod-name"
"""Key of a user's `extra`, where the API server names the pod that the token is bound to."""
POD_UID: Final = "authentication.kubernetes.io/pod-uid"
ACCEPTED: Final = 120.0
"""Seconds for which a good token is not reviewed again: the API server's own cache of webhooks has
the same. A pod that is deleted can report that much longer."""
REFUSED: Final = 10.0
"""Seconds for which a bad token is not reviewed again."""
MOST_VERDICTS: Final = 10_000
"""Good tokens, bad ones, pods and Jobs that are remembered."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME: Final = 253


@dataclass(frozen=True, slots=True)
class TokenVerdicts:
    """How many verdicts are kept, and for how long; clocks for tests."""

    most: int = MOST_VERDICTS
    accepted: float = ACCEPTED
    """Seconds, at most: never longer than the token is good."""
    refused: float = REFUSED
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never go back."""
    wall: Callable[[], float] = time.time
    """Seconds since 1970, as tokens have them."""


class PodTokens:
    """Reviews tokens; belongs to one event loop.

    The client may create TokenReviews, and read pods, Jobs and JobSets of every namespace, and has so many
    seconds for each request. Reviews have a bucket for each client address.
    """

    def __init__(
        self,
        client: KubeClient,
        reviews: TokenBuckets,
        verdicts: TokenVerdicts | None = None,
        within: float = 8.0,
    ) -> None:
        self._client = client
        self._within = within
        self._reviews = reviews
        self._verdicts = verdicts or TokenVerdicts()
        most, clock = self._verdicts.most, self._verdicts.monotonic
        self._membership = PodMembership(client, within, most, clock)
        self._known: AnswerCache[Reporter] = AnswerCache(most, clock)

    def of_client(self, address: Hashable) -> Authenticator:
        """The authenticator of requests from one address."""
        return _ClientTokens(self, address)

    async def reporter(
        self, token: str, namespace: str, name: str, address: Hashable
    ) -> Reporter | None:
        """The pod of a token; None when it may not report for the TrainJob.

        What a token says of itself is believed only when it speaks against the token: most that is
        wrong is refused without a question to the API server.

        Raises:
            ReportRefusal: 429, too many unknown tokens from this address.
            NotAvailable: The API server does not answer.
        """
        claims = token_claims(token)
        audience = handler.audience_of(namespace, name)
        if not _may_be_good(claims, namespace, audience) or not _are_names(namespace, name):
            return None
        key = hashlib.sha256(f"{audience}\0{token}".encode()).digest()

        async def ask() -> tuple[Reporter | None, float]:
            check_rate(self._reviews, address, "Too many unknown tokens from this address")
            found = await self._review(token, namespace, name)
            if found is None:
                return None, self._verdicts.refused
            return found, min(self._verdicts.accepted, claims["exp"] - self._verdicts.wall())

        return await self._known.answer(key, ask)

    async def _review(self, token: str, namespace: str, name: str) -> Reporter | None:
        audience = handler.audience_of(namespace, name)
        try:
            status = await self._status(token, audience)
            pod = reviewed_pod(status, namespace, audience)
            uid = None if pod is None else await self._membership.train_job_uid(pod, name)
        except (TrainerInfraError, TimeoutError) as error:
            # Only what we wrote ourselves: another server's answer may repeat the token.
            why = str(error) if isinstance(error, Unreachable) else type(error).__name__
            raise NotAvailable(
                f"the API server {self._client.server} did not say whose token reports for "
                f"TrainJob {namespace}/{name}: {why}"
            ) from None
        return None if pod is None or uid is None else Reporter(pod.name, uid)

    async def _status(self, token: str, audience: str) -> JSONObject:
        review = {
            "apiVersion": TOKEN_REVIEW.api_version,
            "kind": TOKEN_REVIEW.kind,
            "metadata": {},
            "spec": {"token": token, "audiences": [audience]},
        }
        answer = await self._client.within(self._within).create(review, manager=FIELD_MANAGER)
        found: JSONObject = answer.get("status") or {}
        return found


@dataclass(frozen=True, slots=True)
class _ClientTokens(Authenticator):
    """Tokens from one address."""

    tokens: PodTokens
    address: Hashable

    @override
    async def reporter(self, token: str, namespace: str, name: str) -> Reporter | None:
        return await self.tokens.reporter(token, namespace, name, self.address)


def token_claims(token: str) -> Mapping[str, Any]:
    """What a JSON Web Token says of itself, unverified; empty when it is none."""
    parts = token.split(".")
    if len(parts) != 3 or not token.isascii():  # noqa: PLR2004  header, claims, signature
        return {}
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        found = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _may_be_good(claims: Mapping[str, Any], namespace: str, audience: str) -> bool:
    """Whether a token claims to be what it must be."""
    bound = claims.get("kubernetes.io")
    audiences = claims.get("aud")
    expires = claims.get("exp")
    return (
        isinstance(bound, dict)
        and bound.get("namespace") == namespace
        and isinstance(bound.get("pod"), dict)
        and isinstance(audiences, list)
        and audience in audiences
        and isinstance(expires, int | float)
        and not isinstance(expires, bool)
    )


def _are_names(*texts: str) -> bool:
    return all(len(each) <= _LONGEST_NAME and _NAME.fullmatch(each) for each in texts)


def reviewed_pod(status: JSONObject, namespace: str, audience: str) -> PodIdentity | None:
    """The pod that a token is bound to by the status of its TokenReview (authentication.k8s.io/v1).

    None when the token is not good: pod and service account must be in the namespace, and the token must be
    for the audience; a server that knows no audiences names none.
    """
    user = status.get("user") or {}
    extra = user.get("extra") or {}
    prefix, _, account = str(user.get("username") or "").rpartition(":")
    names, uids = list(extra.get(POD_NAME) or ()), list(extra.get(POD_UID) or ())
    if (
        status.get("authenticated") is not True
        or audience not in (status.get("audiences") or ())
        or prefix != f"system:serviceaccount:{namespace}"
        or not account
        or (len(names), len(uids)) != (1, 1)
    ):
        return None
    return PodIdentity(namespace, names[0], uids[0])
