"""The body of an answer, unpacked, and cut off where it gets too large: a few packed bytes can stand for gigabytes."""

import http.client
import zlib

from server.errors import TooLarge, Unavailable

READ_BYTES = 64 * 1024  # taken at once
PACKINGS = ("gzip", "x-gzip", "deflate")


def body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """All of it. Raises TooLarge beyond max_bytes, packed or not, Unavailable for one that is cut short or damaged."""
    packings = [each.strip().lower() for each in (response.getheader("content-encoding") or "").split(",")]
    packings = [each for each in packings if each not in ("", "identity")]
    if len(packings) > 1 and all(each in PACKINGS for each in packings):
        raise Unavailable("the answer is packed several times over, which is not unpacked")
    unpacker = Unpacker(max_bytes) if packings and packings[0] in PACKINGS else None
    taken, found = 0, bytearray()
    while piece := response.read(READ_BYTES):
        taken += len(piece)
        if unpacker is not None:
            unpacker.add(piece, found)
        else:
            found += piece
        if max(taken, len(found)) > max_bytes:
            raise too_large(max_bytes)
    if response.length:
        raise Unavailable(f"the answer ends {response.length:,} bytes too early")
    if unpacker is not None and taken:
        unpacker.end()
    return bytes(found)


def too_large(max_bytes: int) -> TooLarge:
    """The error for an answer above the limit."""
    return TooLarge(f"the answer is larger than {max_bytes:,} bytes", limit=max_bytes)


class Unpacker:
    """gzip, of one part or several, and both forms of deflate."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # accepts a gzip or zlib header
        self._is_first = True

    def add(self, piece: bytes, found: bytearray) -> None:
        while piece:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
            # One byte more than may be: then it is known that there is more.
            found += self._some(piece, self._max_bytes + 1 - len(found))
            if len(found) > self._max_bytes:
                raise too_large(self._max_bytes)
            piece = self._inflate.unconsumed_tail or self._inflate.unused_data

    def end(self) -> None:
        if not self._inflate.eof:
            raise Unavailable("the answer ends before all of it is unpacked")

    def _some(self, piece: bytes, most: int) -> bytes:
        try:
            return self._inflate.decompress(piece, most)
        except zlib.error:
            if not self._is_first:
                raise Unavailable("the answer is packed in a way that cannot be unpacked") from None
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # deflate without any head, as some servers send it
        finally:
            self._is_first = False
        return self._some(piece, most)
