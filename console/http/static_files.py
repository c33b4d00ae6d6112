"""Static files of the console, from a fixed table: no path of a request is looked up on the disk.

Addresses contain a digest of all files, so that browsers cache them for a year and still see every change."""

import gzip
import hashlib
import mimetypes
import re
from functools import cache
from pathlib import Path

from markupsafe import Markup

from server import late_files
from server.web.endpoint_call import Response

PREFIX = "/static/"
FOREVER = "public, max-age=31536000, immutable"
_FOLDER = Path(__file__).resolve().parent.parent / "static"
_COMMENT, _BLANKS = re.compile(rb"/\*.*?\*/", re.DOTALL), re.compile(rb"\s*([{};,])\s*|\s+")
_SCRIPT_COMMENT, _INDENT = re.compile(rb"^\s*//.*\n", re.MULTILINE), re.compile(rb"^\s+", re.MULTILINE)
_IMPORT = re.compile(rb'^import\b[^"(]*"\./([\w.]+)";', re.MULTILINE)
COMMON_SCRIPT = "console.js"  # loaded by every page
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def _contents() -> dict[str, bytes]:
    late_files.unpack("console")
    return {path.name: _packed(path) for path in sorted(_FOLDER.iterdir()) if path.is_file()}


def _packed(path: Path) -> bytes:
    """A file as it is sent: styles and scripts without comments and indentation. This is safe since our scripts have no
    strings of several lines, and our styles no strings with braces, semicolons or commas."""
    content = path.read_bytes()
    if path.suffix == ".css":
        return _BLANKS.sub(lambda blank: blank[1] or b" ", _COMMENT.sub(b"", content)).strip()
    return _INDENT.sub(b"", _SCRIPT_COMMENT.sub(b"", content)) if path.suffix == ".js" else content


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for name, content in _contents().items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()[:12]


def address(name: str) -> str:
    """The address of a file, which may be cached for a year."""
    assert name in _contents(), name
    return f"{PREFIX}{_digest()}/{name}"


def source(name: str) -> str:
    """The text of a file as it is sent."""
    return _contents()[name].decode()


def version() -> str:
    """A text that is another one when any file is."""
    return _digest()


@cache
def script(name: str) -> Markup:
    """The tags that load a module, with preload hints for the modules that it imports, which a browser would discover
    one after the other."""
    common = {COMMON_SCRIPT, *_imports(COMMON_SCRIPT)} if name != COMMON_SCRIPT else set()
    links = (f'<link rel="modulepreload" href="{address(each)}">' for each in _imports(name) if each not in common)
    return Markup(f'{"".join(links)}\n<script type="module" src="{address(name)}"></script>')


@cache
def _imports(name: str) -> tuple[str, ...]:
    """The modules that a module imports statically, directly or indirectly."""
    direct = [each.decode() for each in _IMPORT.findall(_contents()[name])]
    return tuple(dict.fromkeys([*direct, *(behind for each in direct for behind in _imports(each))]))


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(_contents()[name], mtime=0)


def respond(path: str, takes_gzip: bool = False) -> Response | None:
    """Responds with the file at a path, with or without the digest in it; None if there is no such file."""
    if not path.startswith(PREFIX):
        return None
    digest, _, name = path[len(PREFIX) :].rpartition("/")
    content = _contents().get(name)
    if content is None or digest not in ("", _digest()):
        return None
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {"Vary": "Accept-Encoding"} | ({"Cache-Control": FOREVER} if digest else {})
    if takes_gzip:
        return Response(body=_compressed(name), content_type=kind, headers=headers | {"Content-Encoding": "gzip"})
    return Response(body=content, content_type=kind, headers=headers)
