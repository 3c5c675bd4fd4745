"""Every way in which an API server does not do what was asked. Pure.

`of_status` is the one place that chooses among the refusals.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from trainer_infra.errors import NotAvailable, Problem, Refused
from trainer_infra.json_values import JSONObject

_TYPED_PATCH: Final = "failed to create typed patch object"
"""With it server-side apply answers 500 where an object does not fit its schema."""
_TOO_LARGE: Final = ("request is too large", "larger than max", "exceeds maximum")
"""Words of etcd, of its client and of the API server about an object of too many bytes."""
_TOO_LONG: Final = "FieldValueTooLong"
_OTHER_UID: Final = ("metadata.uid", "FieldValueInvalid")
_WHOLE_OBJECT: Final = (None, "", "[]", "data", "metadata.annotations")
"""Fields whose length limit is one for the object's bytes: ConfigMap's, Secret's, annotations'."""


class Unreachable(NotAvailable):
    """No answer that counts, in its time: no connection, a timeout, a server that ends or is overloaded."""

    def __init__(self, server: str, asked: str, tried: int, seconds: float, last: str) -> None:
        self.server = server
        """The server's URL."""
        self.asked = asked
        """What was asked, for example `apply JobSet team/a`."""
        self.seconds = seconds
        """From the first try until this error."""
        tries = "1 try" if tried == 1 else f"{tried} tries"
        super().__init__(
            f"the API server {server} cannot be reached to {asked}, after {tries} "
            f"in {seconds:.1f} s: {last}"
        )


class NotKubernetes(NotAvailable):
    """An answer that no API server gives: a page, a redirect, broken JSON, another kind of object."""

    def __init__(
        self, server: str, asked: str, what: str, fix: str, *, again: bool = False
    ) -> None:
        self.server = server
        """The server's URL."""
        self.asked = asked
        """What was asked, for example `apply JobSet team/a`."""
        self.again = again
        """Whether the next answer may be a good one."""
        super().__init__(
            f"the server {server} answered `{asked}` {what}, which is not an answer of Kubernetes; {fix}"
        )


class NotServed(NotAvailable):
    """The server does not know the kind: its CustomResourceDefinition is not installed."""

    def __init__(self, server: str, api_version: str, kind: str) -> None:
        self.api_version = api_version
        """Group and version that were asked for."""
        self.kind = kind
        """The kind, or its plural where only that is known."""
        super().__init__(
            f"the API server {server} does not serve {kind} of {api_version}; "
            "install the CustomResourceDefinition, or name the version that is served"
        )


class Answer(Refused):
    """The server answered no."""

    advice: ClassVar[str] = ""
    """What to do about it, where that is always the same."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        problems: tuple[Problem, ...] = (),
        asked: str = "",
    ) -> None:
        self.status = status
        """HTTP status code."""
        self.reason = reason
        """The word of the server for it, for example `AlreadyExists`."""
        self.message = message
        """The server's own sentence."""
        self.problems = problems
        """One for each cause that the server names, with the field's path; often empty."""
        self.asked = asked
        """What was asked, for example `apply JobSet team/a`; empty where it is not known."""
        head = f"{asked}: " if asked else ""
        tail = f"; {self.advice}" if self.advice else ""
        super().__init__(f"{head}{message} (the API server's answer: {status} {reason}){tail}")


class NotFound(Answer):
    """404: there is no such object, no such namespace, or no such subresource."""


class Exists(Answer):
    """409 AlreadyExists: there is an object of that name, perhaps one that is being deleted."""


class Conflict(Answer):
    """409: a stale resourceVersion or uid; or, with `problems`, fields that other managers own."""


class Expired(Answer):
    """410: a watch or a list from too long ago: list again."""


class Invalid(Answer):
    """400, 422: what was sent cannot be, or changes what cannot change; has a Problem for each cause."""


class Forbidden(Answer):
    """403: the user may not, a quota is used up, or a webhook says no."""


class Unauthorized(Answer):
    """401: the server does not know the user."""

    advice = "sign in again: the credentials in the kubeconfig are unknown to it, or have expired"


class TooLarge(Answer):
    """413, or another that says so: the object is bigger than the server takes."""


_BY_STATUS: Final[Mapping[int, type[Answer]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    413: TooLarge,
    422: Invalid,
}


def of_status(status: int, said: JSONObject, asked: str) -> Answer:
    """The refusal for an answer.

    Args:
        status: HTTP status code, or `code` of a watch's Status.
        said: the Status (meta/v1) of the answer; one with `message` alone where it was plain text.
        asked: what was asked, for example `apply JobSet team/a`.
    """
    reason = str(said.get("reason") or "Unknown")
    message = str(said.get("message") or "no message")
    kind = _by_causes(_causes(said)) or _by_answer(status, reason, message)
    told = kind is not Conflict or reason == "Conflict"
    problems = tuple(_problems(said, asked)) if told else ()
    return kind(status, reason, message, problems, asked)


def _by_causes(causes: Sequence[JSONObject]) -> type[Answer] | None:
    """What a 422 is that is not about the object's content.

    The built-in kinds say so where `apply` names another uid; every other way to do that is a 409.
    """
    found = {(cause.get("field"), cause.get("reason")) for cause in causes}
    if found and all(field in _WHOLE_OBJECT and why == _TOO_LONG for field, why in found):
        return TooLarge
    if found == {_OTHER_UID}:
        return Conflict
    return None


def _by_answer(status: int, reason: str, message: str) -> type[Answer]:
    if status != 422 and any(words in message for words in _TOO_LARGE):  # noqa: PLR2004  HTTP's
        return TooLarge
    if reason == "AlreadyExists":
        return Exists
    if message.startswith(_TYPED_PATCH):
        return Invalid
    return _BY_STATUS.get(status, Answer)


def _causes(said: JSONObject) -> tuple[JSONObject, ...]:
    return tuple((said.get("details") or {}).get("causes") or ())


def _problems(said: JSONObject, asked: str) -> Iterator[Problem]:
    for cause in _causes(said):
        field = str(cause.get("field") or "").removeprefix(".")
        yield Problem(field, str(cause.get("message") or cause.get("reason")), where=asked)
