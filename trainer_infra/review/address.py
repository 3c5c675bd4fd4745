"""A file as a URI reference. Used by `sarif` and `markdown`; pure."""

from urllib.parse import quote

ROOT = "/"


def uri(file: str) -> str:
    """Relative to the folder of the check; `file:///…` for a file that was named by its whole path."""
    path = quote(file.encode("utf-8", "surrogatepass"))
    return f"file://{path}" if is_whole(file) else path


def is_whole(file: str) -> bool:
    """Whether the path starts at the root."""
    return file.startswith(ROOT)
