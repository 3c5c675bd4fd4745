"""Messages of a session without an engine."""

SAID: list[str] = []


class Heard:
    """What the engine would show."""

    def __init__(self, _urn: str) -> None:
        pass

    def status(self, message: str) -> None:
        """Nothing."""

    def info(self, message: str) -> None:
        """Kept."""
        SAID.append(message)

    warn = info
