"""Reads type and size of an image from its header, without decoding it."""

import struct
from collections.abc import Callable

from server.dataclass import dataclass

MAX_SEGMENTS = 1000  # segments of a JPEG that are read before its size
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})  # the JPEG segments that hold the size


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """An image. type: its media type. width, height: in pixels. bits: per channel."""

    type: str
    width: int
    height: int
    channels: int
    bits: int


def image_header(data: bytes) -> ImageHeader | None:
    """Returns the header of a PNG, JPEG, GIF, WebP or BMP, recognized by its bytes; None for anything else."""
    for start, type, read in _FORMATS:
        if data.startswith(start):
            try:
                return ImageHeader(type, *read(data))
            except (struct.error, IndexError, ValueError):
                return None
    return None


def image_type(data: bytes) -> str:
    """Returns the media type of an image by its first bytes, also if its header is damaged; "" for anything else."""
    return next((type for start, type, _read in _FORMATS if data.startswith(start)), "")


def _png(data: bytes) -> tuple[int, int, int, int]:
    width, height, bits, colour = struct.unpack(">IIBB", data[16:26])
    return width, height, _PNG_CHANNELS.get(colour, 3), bits


def _gif(data: bytes) -> tuple[int, int, int, int]:
    width, height, flags = struct.unpack("<HHB", data[6:11])
    return width, height, 3, (flags & 7) + 1


def _bmp(data: bytes) -> tuple[int, int, int, int]:
    width, height, _, bits = struct.unpack("<iiHH", data[18:30])
    return width, abs(height), max(bits // 8, 1), min(bits, 8)


def _jpeg(data: bytes) -> tuple[int, int, int, int]:
    place = 2
    for _ in range(MAX_SEGMENTS):
        while data[place + 1] == 0xFF:
            place += 1
        mark = data[place + 1]
        if data[place] != 0xFF:
            raise ValueError("no segment")
        if mark in _SIZES:
            bits, height, width, channels = struct.unpack(">BHHB", data[place + 4 : place + 10])
            return width, height, channels, bits
        place += 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]
    raise ValueError("no size")


def _webp(data: bytes) -> tuple[int, int, int, int]:
    kind = data[8:16]
    if kind == b"WEBPVP8X":
        size = data[24:30]
        if len(size) < 6:
            raise ValueError("no size")
        width, height = int.from_bytes(size[:3], "little") + 1, int.from_bytes(size[3:], "little") + 1
        return width, height, 4 if data[20] & 16 else 3, 8
    if kind == b"WEBPVP8L":
        (bits,) = struct.unpack("<I", data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, 4 if bits >> 28 & 1 else 3, 8
    if kind == b"WEBPVP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF, 3, 8
    raise ValueError("no WebP")


_FORMATS: tuple[tuple[bytes, str, Callable[[bytes], tuple[int, int, int, int]]], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png", _png),
    (b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (b"GIF87a", "image/gif", _gif),
    (b"GIF89a", "image/gif", _gif),
    (b"RIFF", "image/webp", _webp),
    (b"BM", "image/bmp", _bmp),
)
