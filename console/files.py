"""Static files of the console, from a fixed table: nothing is looked up on the disk by what somebody sent.

Their addresses hold a digest of all of them, so that browsers keep them for a year and still get every change."""

import hashlib
import mimetypes
from functools import cache
from pathlib import Path

from server.web.call import Answer

PREFIX = "/static/"
FOREVER = "public, max-age=31536000, immutable"
_FOLDER = Path(__file__).resolve().parent / "static"
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def _contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir()) if path.is_file()}


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for name, content in _contents().items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()[:12]


def address(name: str) -> str:
    """The address of a file, good for a year."""
    assert name in _contents(), name
    return f"{PREFIX}{_digest()}/{name}"


def answer(path: str) -> Answer | None:
    """The file at a path, with or without the digest in it; None when there is none."""
    if not path.startswith(PREFIX):
        return None
    digest, _, name = path[len(PREFIX) :].rpartition("/")
    content = _contents().get(name)
    if content is None or digest not in ("", _digest()):
        return None
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {"Cache-Control": FOREVER} if digest else {}
    return Answer(body=content, content_type=kind, headers=headers)
