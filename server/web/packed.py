"""Compressed bodies of requests and responses (Content-Encoding, RFC 9110, 8.4)."""

import zlib

from tornado.httputil import HTTPHeaders

from server.errors import Malformed, TooLarge, Unavailable, UnsupportedMedia
from server.outbound.unpack import PACKINGS, Unpacker

HEADER, OFFER = "Content-Encoding", "Accept-Encoding"
READ = "gzip, deflate"  # offered with a refusal (RFC 7694)
LEAST_BYTES = 8 * 1024  # bytes; compressing a smaller response gains little
MOST_AT_ONCE_BYTES = 64 * 1024  # bytes; a larger response is compressed on a thread, not on the event loop
GZIP, LEVEL = zlib.MAX_WBITS | 16, 1  # fastest level: a tenth of the size in a third of the time


def takes_gzip(headers: HTTPHeaders) -> bool:
    """Whether a client accepts gzip (Accept-Encoding, RFC 9110, section 12.5.3).

    >>> [takes_gzip(HTTPHeaders({OFFER: each})) for each in ("gzip, deflate, br", "br, gzip;q=0", "*;q=0.5", "")]
    [True, False, True, False]"""
    offered = [each.strip().lower().partition(";") for each in headers.get(OFFER, "").split(",")]
    weights = {name.strip(): weight.strip() for name, _, weight in offered}
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*")))
    return weight is not None and weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000")


def packed(body: bytes) -> bytes:
    """Compresses a body with gzip."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    return packer.compress(body) + packer.flush()


def packing_of(headers: HTTPHeaders) -> str:
    """Returns the encoding of a body, "" for none. Raises UnsupportedMedia for several, or an unsupported one."""
    names = [each.strip().lower() for each in headers.get(HEADER, "").split(",")]
    names = [each for each in names if each not in ("", "identity")]
    if len(names) > 1 or any(each not in PACKINGS for each in names):
        raise UnsupportedMedia(f"a body packed as '{', '.join(names)[:80]}' is not read; send {READ}, or pack nothing")
    return names[0] if names else ""


def unpacked(body: bytes, packing: str, most: int) -> bytes:
    """Decompresses a body. Raises TooLarge above `most` bytes, Malformed for damaged data."""
    if not packing or not body:
        return body
    unpacker, content = Unpacker(most), bytearray()
    try:
        unpacker.add(body, content)
        unpacker.end()
    except TooLarge:
        raise TooLarge(f"the body unpacks to more than {most} bytes, the limit of this address") from None
    except Unavailable:
        raise Malformed(f"the body is damaged, or not {packing}; pack it again, or send it as it is") from None
    return bytes(content)
