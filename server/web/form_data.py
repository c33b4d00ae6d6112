"""Decodes form bytes to a tree: `fields[links][]=a` becomes {"fields": {"links": ["a"]}}, as PHP reads names, but with
limits.

Independent of the parameters, except for the few whose bytes must arrive unchanged. Loops instead of recursion, and
reads each byte a fixed number of times. multipart.py splits multipart bodies, json_text.py decodes JSON; params.py
reads the tree."""

import re
from binascii import a2b_qp
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

from server.dataclass import dataclass
from server.errors import Malformed, TooLarge

MAX_FIELDS = 1_000
MAX_NAME_CHARS = 256
MAX_BRACKETS = 16  # a[1][2]...[16]
BYTES = "send bytes as a file part of multipart/form-data"
RAW_NAMES = frozenset(("message", "content", "file"))  # mail and files: arbitrary bytes, decoded by the endpoint

_UNQUOTE_AT_ONCE_BYTES = 128  # bytes; unquote_to_bytes is slow and needs some 30 times the memory of its input
_PIECE_BYTES = 65_536
_INDEX = re.compile(r"0|[1-9][0-9]*")
_LONE_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_UNDERSCORED = str.maketrans(". [", "___")


class Raw(bytes):
    """A value of one of RAW_NAMES: its bytes exactly as sent, after decoding of the form."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Upload:
    """A file part of a multipart form. `filename` comes from the client; it is never used as a path on our disk."""

    filename: str
    content_type: str
    content: bytes


# A form yields str, Raw, Upload, lists and maps; a JSON body also numbers, booleans and None, unchanged.
Value: TypeAlias = Any
Tree: TypeAlias = dict[str, Value]


def decode_query(raw: str | bytes) -> Tree:
    """Returns the tree of a query string. A str has one character for each byte, as the server passes it.

    Raises Malformed for invalid UTF-8 and for contradictory names, TooLarge above a limit."""
    if isinstance(raw, str):
        try:
            raw = raw.encode("latin-1")
        except UnicodeEncodeError as error:
            raise Malformed("the query string holds characters that are not percent-encoded") from error
    return decode_form(raw)


def decode_form(raw: bytes) -> Tree:
    """Returns the tree of an `application/x-www-form-urlencoded` body. Raises the errors of decode_query().

    >>> decode_form(b"a[]=1&a[]=2&b[k]=x+y&c=1&c=2")
    {'a': ['1', '2'], 'b': {'k': 'x y'}, 'c': '2'}"""
    if not raw:
        return {}
    form = FormBuilder()
    for name, value in _pairs(raw):
        form.add(_path_of_bytes(name), _unquoted(value))
    return form.tree()


def form_pairs(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the names and values of such a body in their order, as bytes. Raises TooLarge.

    >>> list(form_pairs(b"a%5B%5D=1&B=x+y&=z"))
    [(b'a[]', b'1'), (b'B', b'x y')]"""
    for name, value in _pairs(raw):
        yield _unquoted(name), _unquoted(value)


def _pairs(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    if raw.count(b"&") >= MAX_FIELDS:
        raise TooLarge(f"the form has more than {MAX_FIELDS} fields", limit=MAX_FIELDS)
    for pair in raw.split(b"&"):
        name, _, value = pair.partition(b"=")
        if name:
            yield name, value


def merge(query: Tree, body: Tree) -> Tree:
    """Merges both trees; the body wins if both have a name. Values under one name are never mixed."""
    return {**query, **body} if query else body


class Path(NamedTuple):
    """The position of a value: the outermost name and the keys in brackets. `name` is the name as sent, for
    messages."""

    name: str
    outer: str
    keys: tuple[str, ...]


def path_of(name: str) -> Path:
    """Returns the path that a name denotes; for `=1`, without a name, the outermost name is empty. Raises Malformed,
    TooLarge.

    >>> path_of("a.b[c.d][]")
    Path(name='a.b[c.d][]', outer='a_b', keys=('c.d', ''))"""
    if len(name) > MAX_NAME_CHARS:
        raise _long_name()
    if "\0" in name:
        raise Malformed("the name of a parameter holds a NUL character")
    stripped = name.lstrip(" ")
    opened = stripped.find("[")
    # Only the outermost name has its dots, spaces and open brackets replaced.
    if opened == -1 or "]" not in stripped[opened:]:
        return Path(name, stripped.translate(_UNDERSCORED), ())
    if opened == 0:
        raise Malformed(f"the parameter name '{name}' begins with a bracket; write a name before it")
    keys: list[str] = []
    at = opened
    while at < len(stripped):
        closed = stripped.find("]", at)
        if stripped[at] != "[" or closed == -1:
            raise Malformed(f"the brackets of the parameter name '{name}' do not match", field=stripped[:opened])
        keys.append(stripped[at + 1 : closed])
        at = closed + 1
    if len(keys) > MAX_BRACKETS:
        raise TooLarge(f"'{stripped[:opened]}' has more than {MAX_BRACKETS} pairs of brackets", limit=MAX_BRACKETS)
    return Path(name, stripped[:opened].translate(_UNDERSCORED), tuple(keys))


@lru_cache(maxsize=1024)  # 4 microseconds for each field of a form
def _path_of_bytes(raw: bytes) -> Path:
    if len(raw) > MAX_NAME_CHARS * 12:  # four bytes, each written as %XX
        raise _long_name()
    try:
        return path_of(_unquoted(raw).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Malformed("the name of a parameter is not valid UTF-8") from error


def _unquoted(text: bytes) -> bytes:
    if b"+" in text:
        text = text.replace(b"+", b" ")
    if b"%" not in text:
        return text
    if len(text) <= _UNQUOTE_AT_ONCE_BYTES:
        return unquote_to_bytes(text)
    return b"".join(_unquoted_pieces(text))


def _unquoted_pieces(text: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(text):
        end = start + _PIECE_BYTES
        cut = text.rfind(b"%", end - 2, end) if end < len(text) else -1
        end = end if cut == -1 else cut  # an escape must not be split
        # Quoted-printable only uses another escape character, and its decoder is 20 times as fast.
        piece = _LONE_PERCENT.sub(b"=25", text[start:end].replace(b"=", b"=3D"))
        yield a2b_qp(piece.replace(b"%", b"="))
        start = end


class _FormBranch(dict[str, Value]):
    """A name with brackets while the form is read; `next_index` is the index that the next `[]` gets."""

    __slots__ = ("next_index",)

    def __init__(self) -> None:
        super().__init__()
        self.next_index = 0


class FormBuilder:
    """Builds the tree from names and values, one pair at a time."""

    __slots__ = ("_branches", "_root")

    def __init__(self) -> None:
        self._root: Tree = {}
        self._branches: list[tuple[dict[str, Value], str]] = []  # parent and key, parents before their children

    def add(self, path: Path, value: bytes | Upload) -> None:
        """Inserts `value` at `path`. Of two values with the same path the last wins."""
        name, outer, keys = path
        if not outer:
            return
        at: dict[str, Value] = self._root
        key = outer
        for inner in keys:
            branch = self._branch(at, key, outer)
            at, key = branch, _index_or_key(branch, inner)
        if isinstance(at.get(key), _FormBranch):
            raise _conflict(outer)
        if isinstance(value, Upload):
            at[key] = value
        else:
            at[key] = Raw(value) if not keys and outer in RAW_NAMES else _text(value, name)

    def tree(self) -> Tree:
        """Returns the complete tree. Names whose keys are all indexes become lists, in the order of the indexes."""
        for parent, key in reversed(self._branches):
            branch: _FormBranch = parent[key]
            if all(map(_INDEX.fullmatch, branch)):
                parent[key] = [branch[index] for index in sorted(branch, key=int)]
            else:
                parent[key] = dict(branch)
        self._branches.clear()
        return self._root

    def _branch(self, parent: dict[str, Value], key: str, outer: str) -> _FormBranch:
        branch = parent.get(key)
        if branch is None:
            branch = parent[key] = _FormBranch()
            self._branches.append((parent, key))
        elif not isinstance(branch, _FormBranch):
            raise _conflict(outer)
        return branch


def _index_or_key(branch: _FormBranch, key: str) -> str:
    if not key:
        key = str(branch.next_index)
    if _INDEX.fullmatch(key):
        branch.next_index = max(branch.next_index, int(key) + 1)
    return key


def _text(value: bytes, name: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"the value of '{name}' is not valid UTF-8; {BYTES}", field=name) from error


def _conflict(outer: str) -> Malformed:
    return Malformed(f"'{outer}' is sent both as a value and with brackets; send it one way", field=outer)


def _long_name() -> TooLarge:
    return TooLarge(
        f"the name of a parameter has more than {MAX_NAME_CHARS} characters; shorten it", limit=MAX_NAME_CHARS
    )


def encoded(tree: Tree, prefix: str = "") -> list[tuple[str, str]]:
    """The (name, value) pairs that decode_query() reads as this tree.

    >>> encoded({"q": "boat", "subtotals": ["owner", "group"], "fields": {"name": "Kite"}})
    [('q', 'boat'), ('subtotals[]', 'owner'), ('subtotals[]', 'group'), ('fields[name]', 'Kite')]
    """
    pairs: list[tuple[str, str]] = []
    for key, value in tree.items():
        name = f"{prefix}[{key}]" if prefix else str(key)
        if isinstance(value, dict):
            pairs += encoded(value, name)
        elif isinstance(value, list):
            pairs += [(f"{name}[]", str(each)) for each in value]
        elif value is not None:
            pairs.append((name, str(value)))
    return pairs
