"""Requests to one API server over HTTP: signed, timed, and tried again where that is safe.

What a failed try means is decided here: whether the server may have acted on it, and whether another is made.
"""

import asyncio
import atexit
import math
import os
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import Final
from urllib.parse import urlencode

import aiohttp
import orjson
from yarl import URL

from trainer_infra.json_values import JSONObject
from trainer_infra.kube import answer_body, kubeconfig, refusals
from trainer_infra.kube.answer_body import Body, BrokenStream
from trainer_infra.kube.connection_failure import is_final, why_unreachable
from trainer_infra.kube.kubeconfig import SignedServer
from trainer_infra.kube.refusals import Answer, NotKubernetes, Unreachable
from trainer_infra.kube.request import KubeRequest, KubeResponse, refusal_of
from trainer_infra.kube.request_retry import Patience, RequestRate, Tries
from trainer_infra.kube.server_clock import ServerClock

AT_ONCE: Final = 32
"""Requests in flight, streams not counted; more wait here instead of in the server's queues."""

_CONNECT: Final = 10.0
"""Seconds for a connection with its TLS handshake."""
_ANSWER: Final = 40.0
"""Seconds without a byte of an answer: a webhook may take 30 of them."""
_CLOSED_WITHIN: Final = 1.0
"""Seconds for the connections that are left at the interpreter's end."""
_SIGNED_FOR: Final = 60.0
"""Seconds after which it is asked whether our token is still good."""
_BUSY: Final = (429, 500, 502, 503, 504)
"""Statuses of a server, or of what is before it, that may answer otherwise later."""
_OK: Final = 200
_UNAUTHORIZED: Final = 401
_TOO_MANY: Final = 429
_INTERNAL: Final = 500
_LARGE: Final = 256 * 1024
"""Bytes of a body that would keep the event loop from other work."""
_NOT_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters of JSON that YAML does not have, or has for line ends."""
_WEBHOOK: Final = "webhook"
"""The word in what an API server says of a webhook that it cannot call."""
_WEBHOOK_BACK: Final = 10.0
"""Seconds for a webhook to be back: its pod is replaced sooner, and a submit takes longer."""
_BROKEN: Final = 5.0
"""Seconds for an answer that arrives whole: what breaks one may break the next."""
_MOST: Final = 1024 * 1024 * 1024
"""Bytes of JSON that are read: 500 objects as large as they may be."""
_PAGE: Final = 64 * 1024
"""Bytes that are read of anything else, which is only looked at."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a try brought no answer that counts."""

    why: str
    acted: bool
    """Whether the server may have done what was asked all the same."""
    final: bool = False
    """Whether another try would end the same way."""
    retry_after: float = 0.0
    within: float = math.inf
    """Seconds from the first try in which it may pass."""
    answer: Answer | NotKubernetes | None = None
    """What the server said, to be raised when the time is up."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """A try that brought an answer."""

    response: KubeResponse
    opened: aiohttp.ClientResponse | None = None
    """The connection, where the answer is a stream and no refusal."""


class Transport:
    """One server; make it in the event loop that uses it."""

    def __init__(
        self,
        source: tuple[str | None, str | None],
        signed_in: kubeconfig.KubeconfigSession,
        patience: Patience,
        rate: RequestRate | None = None,
    ) -> None:
        self._rate = rate
        self._source = source
        self._signed_in = signed_in
        self.patience: Final = patience
        """How long it goes on trying."""
        self.clock: Final = ServerClock()
        """The server's."""
        self._endpoint: SignedServer | None = None
        self.server: Final = signed_in.server
        """The server's URL."""
        self._signed_at = 0.0
        self._signing = asyncio.Lock()
        self._answered_at = 0.0
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "trainer-infra"},
        )
        # A DELETE that aiohttp repeats by itself answers 404, which does not show that it was ours.
        self._session._retry_connection = False  # noqa: SLF001  aiohttp.test_utils sets it too
        self._at_exit = partial(_end, self._session, asyncio.get_running_loop(), os.getpid())
        atexit.register(self._at_exit)

    async def close(self) -> None:
        """End every connection."""
        atexit.unregister(self._at_exit)
        await self._session.close()

    def tries(self, within: float = math.inf) -> Tries:
        """A new count of tries, with this client's patience, or with less."""
        return Tries(self.patience, within)

    async def send(self, request: KubeRequest, within: float = math.inf) -> KubeResponse:
        """The answer, which may be a no; `within` are its seconds, where they are fewer than the patience.

        Raises:
            Unreachable: No answer that counts, in time.
            NotKubernetes: The answer is not one of an API server.
            Answer: 500 until the time was up.
            TimeoutError: `within` ended the first try, so there is no reason to name.
        """
        tries, unsure = self.tries(within), False
        while True:
            async with self._slot(tries):
                found = await self._try(request, tries)
            if isinstance(found, _Reply):
                return replace(found.response, unsure=unsure)
            unsure = unsure or found.acted
            if within < math.inf and not (tries.left or tries.count or found.answer):
                raise TimeoutError
            await self._wait(request, tries, found)

    @asynccontextmanager
    async def stream(
        self, request: KubeRequest, silence: float
    ) -> AsyncGenerator[AsyncGenerator[bytes, None], None]:
        """An open answer to a GET: its bytes as they come, until the server ends it.

        The iterator raises BrokenStream, also after so many seconds of silence.

        Raises:
            Unreachable: As for `send`.
            NotKubernetes: As for `send`.
            Answer: The server says no.
        """
        tries = self.tries()
        while not isinstance(found := await self._try(request, tries, silence), _Reply):
            await self._wait(request, tries, found)
        opened = found.opened
        if opened is None:
            raise refusal_of(request, found.response, self.server)
        try:
            yield _chunks(opened)
        finally:
            opened.close()

    @asynccontextmanager
    async def _slot(self, tries: Tries) -> AsyncGenerator[None, None]:
        """One of the requests in flight; to wait for it is not a try while the server answers others."""
        began = time.monotonic()
        async with self._slots:
            if self._answered_at > began:
                tries.excuse(time.monotonic() - began)
            yield

    async def _wait(self, request: KubeRequest, tries: Tries, failure: _Failure) -> None:
        """Until the next try.

        Raises:
            Unreachable: There shall be none.
            Answer: The same, and the server did answer.
            NotKubernetes: The same, and what answered is not an API server.
        """
        pause = tries.pause(self._answered_at > 0.0, failure.retry_after, failure.within)
        hopeless = failure.final or (failure.acted and not request.repeatable)
        if pause is None or hopeless:
            raise failure.answer or Unreachable(
                self.server, request.asked, tries.count, tries.seconds, failure.why
            )
        await asyncio.sleep(pause)

    async def _try(
        self, request: KubeRequest, tries: Tries, silence: float | None = None
    ) -> _Reply | _Failure:
        """One try, or two where our token was no longer good."""
        if self._rate is not None:
            await self._rate.take()
        try:
            async with asyncio.timeout(tries.left):
                endpoint = await self._signed()
                found = await self._once(endpoint, request, silence)
                if found.response.status == _UNAUTHORIZED:
                    found = await self._once(await self._renewed(endpoint), request, silence)
        except NotKubernetes as error:
            return _Failure(
                str(error), acted=True, final=not error.again, within=_BROKEN, answer=error
            )
        except aiohttp.ClientConnectorError as error:
            return _Failure(why_unreachable(error), acted=False, final=is_final(error))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _Failure(why_unreachable(error), acted=True, final=is_final(error))
        self._answered_at = time.monotonic()
        self.clock.hear(found.response.headers.get("Date"))
        return _busy(found.response, request.asked) or found

    async def _once(
        self, endpoint: SignedServer, request: KubeRequest, silence: float | None
    ) -> _Reply:
        """An answer; open where `silence` is given and it is good."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        opened = await self._session.request(
            request.method,
            URL(f"{endpoint.server}{request.path}{query}", encoded=True),
            data=_encoded(request.body),
            headers={**endpoint.headers, "Content-Type": request.content_type},
            ssl=endpoint.tls or True,
            server_hostname=endpoint.tls_name,
            proxy=endpoint.proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=_CONNECT, sock_read=silence or _ANSWER
            ),
        )
        streams = silence is not None and opened.status == _OK
        if streams and answer_body.is_stream(request, opened.content_type):
            return _Reply(KubeResponse(opened.status, {}, opened.headers), opened)
        async with opened:
            body = await _body(opened)
            if streams:
                raise answer_body.no_stream(request, body, self.server)
            said = answer_body.said_by_server(request, body, self.server)
            return _Reply(KubeResponse(opened.status, said, opened.headers))

    async def _signed(self) -> SignedServer:
        """The endpoint with a token that is good for a while."""
        if self._endpoint is None or time.monotonic() - self._signed_at > _SIGNED_FOR:
            async with self._signing:
                if self._endpoint is None or time.monotonic() - self._signed_at > _SIGNED_FOR:
                    self._endpoint = await asyncio.to_thread(self._signed_in.endpoint)
                    self._signed_at = time.monotonic()
        return self._endpoint

    async def _renewed(self, refused: SignedServer) -> SignedServer:
        """Sign in anew, unless another request did so since this endpoint was refused."""
        async with self._signing:
            if self._endpoint is refused:
                self._signed_in = await asyncio.to_thread(kubeconfig.read_kubeconfig, *self._source)
                self._endpoint = await asyncio.to_thread(self._signed_in.endpoint)
                self._signed_at = time.monotonic()
            return self._endpoint or refused


def _end(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop, process: int) -> None:
    """Close what is open at the interpreter's end, which aiohttp would complain about."""
    if loop.is_running() and process == os.getpid():
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(session.close(), loop).result(_CLOSED_WITHIN)


async def _chunks(opened: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in opened.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise BrokenStream(why_unreachable(error)) from error


def _encoded(body: JSONObject | None) -> bytes | BytesIO | None:
    """A body; a large one as a file, which aiohttp sends piece by piece.

    The API server reads what is applied as YAML, which refuses some characters, and takes others for
    line ends and folds them. Where it finds them escaped, it keeps them.
    """
    if body is None:
        return None
    content = orjson.dumps(body)
    if not content.isascii() or b"\x7f" in content:
        content = _NOT_IN_YAML.sub(
            lambda found: f"\\u{ord(found[0]):04x}", content.decode()
        ).encode()
    return BytesIO(content) if len(content) > _LARGE else content


async def _body(opened: aiohttp.ClientResponse) -> Body:
    """What came; of a page no more than is looked at, however long it is."""
    limit = _MOST if opened.content_type == answer_body.JSON_TYPE else _PAGE
    parts: list[bytes] = []
    left = limit
    async for chunk in opened.content.iter_any():
        parts.append(chunk[:left])
        left -= len(chunk)
        if left <= 0:
            opened.close()
            break
    location = opened.headers.get("Location", "")
    return Body(opened.status, opened.content_type, b"".join(parts), location)


def _busy(found: KubeResponse, asked: str) -> _Failure | None:
    """What an answer of a server in trouble means; None for any other."""
    if found.status not in _BUSY:
        return None
    answer = refusals.of_status(found.status, found.said, asked)
    if type(answer) is not Answer:  # a 500 that is about what was sent
        return None
    after = found.headers.get("Retry-After", "")
    return _Failure(
        str(answer),
        acted=found.status != _TOO_MANY,
        retry_after=float(after) if after.isdecimal() else 0.0,
        within=_WEBHOOK_BACK if _WEBHOOK in answer.message else math.inf,
        answer=answer if found.status == _INTERNAL else None,
    )
