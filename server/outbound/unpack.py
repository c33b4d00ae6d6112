"""Unpacks the body of a response, and stops at the limit: a few packed bytes can expand to gigabytes.

Not urllib3, which returns a gzip body that was cut off as if it were whole, and ignores bytes that follow it.
web/packed.py unpacks bodies of requests by the same class."""

import http.client
import zlib

from server.errors import TooLarge, Unavailable

READ_BYTES = 64 * 1024  # per read
PACKINGS = ("gzip", "x-gzip", "deflate")


def body(response: http.client.HTTPResponse, max_bytes: int, *, is_cut: bool = False) -> bytes:
    """Returns the whole body. Raises TooLarge if it exceeds max_bytes, packed or not; Unavailable if it is truncated or
    damaged. is_cut: returns the first max_bytes of a larger body instead."""
    packings = [each.strip().lower() for each in (response.getheader("content-encoding") or "").split(",")]
    packings = [each for each in packings if each not in ("", "identity")]
    if len(packings) > 1 and all(each in PACKINGS for each in packings):
        raise Unavailable("the response is compressed several times, which is not supported")
    unpacker = Unpacker(max_bytes) if packings and packings[0] in PACKINGS else None
    packed_bytes, content = 0, bytearray()
    while piece := response.read(READ_BYTES):
        packed_bytes += len(piece)
        try:
            if unpacker is not None:
                unpacker.add(piece, content)
            else:
                content += piece
            if max(packed_bytes, len(content)) > max_bytes:
                raise too_large(max_bytes)
        except TooLarge:
            if is_cut:
                return bytes(content[:max_bytes])
            raise
    if response.length:
        raise Unavailable(f"the response ends {response.length:,} bytes too early")
    if unpacker is not None and packed_bytes:
        unpacker.end()
    return bytes(content)


def too_large(max_bytes: int) -> TooLarge:
    """Returns the error for a response above the limit."""
    return TooLarge(f"the response is larger than {max_bytes:,} bytes", limit=max_bytes)


class Unpacker:
    """Unpacks gzip, with one or several members, and both forms of deflate."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # accepts a gzip or zlib header
        self._is_first = True

    def add(self, piece: bytes, content: bytearray) -> None:
        while piece:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
            # One byte above the limit shows that there is more.
            content += self._some(piece, self._max_bytes + 1 - len(content))
            if len(content) > self._max_bytes:
                raise too_large(self._max_bytes)
            piece = self._inflate.unconsumed_tail or self._inflate.unused_data

    def end(self) -> None:
        if not self._inflate.eof:
            raise Unavailable("the compressed response ends too early")

    def _some(self, piece: bytes, most: int) -> bytes:
        try:
            return self._inflate.decompress(piece, most)
        except zlib.error:
            if not self._is_first:
                raise Unavailable("the compressed response is damaged") from None
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # raw deflate, which some servers send
        finally:
            self._is_first = False
        return self._some(piece, most)
