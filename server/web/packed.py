"""Bodies of requests that came packed, by their Content-Encoding (RFC 9110, 8.4)."""

from tornado.httputil import HTTPHeaders

from server.errors import Malformed, TooLarge, Unavailable, UnsupportedMedia
from server.outbound.unpack import PACKINGS, Unpacker

HEADER, OFFER = "Content-Encoding", "Accept-Encoding"
READ = "gzip, deflate"  # what a refusal offers (RFC 7694)


def packing_of(headers: HTTPHeaders) -> str:
    """The one encoding of a body, "" for none. Raises UnsupportedMedia for several, or one that is not unpacked."""
    named = [each.strip().lower() for each in headers.get(HEADER, "").split(",")]
    named = [each for each in named if each not in ("", "identity")]
    if len(named) > 1 or any(each not in PACKINGS for each in named):
        raise UnsupportedMedia(f"a body packed as '{', '.join(named)[:80]}' is not read; send {READ}, or pack nothing")
    return named[0] if named else ""


def unpacked(body: bytes, packing: str, most: int) -> bytes:
    """A body as it was before it was packed. Raises TooLarge beyond `most` bytes, Malformed for a damaged one."""
    if not packing or not body:
        return body
    unpacker, found = Unpacker(most), bytearray()
    try:
        unpacker.add(body, found)
        unpacker.end()
    except TooLarge:
        raise TooLarge(f"the body unpacks to more than {most} bytes, the most that this address takes") from None
    except Unavailable:
        raise Malformed(f"the body is damaged, or not {packing}; pack it again, or send it as it is") from None
    return bytes(found)
