"""Reads size, channels, bits and type of an image, without decoding it."""

import base64
import binascii
import re
from typing import Any

from server.markup.image_headers import image_header
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import bytes_of, read_text

NO_IMAGE = "The text is not an image; give the bytes or the data URI of a PNG, JPEG, GIF, WebP or BMP"
_DATA = re.compile(r"data:[^,]{0,200}?;base64,", re.IGNORECASE)
Info = dict[str, Any]


@filter("image_info")
def image_info(run: Rendering, value: Any) -> Info:
    """The {width, height, channels, bits, type} of an image from its bytes or data URI: pixels, bits per channel, and
    the media type. {_error} if the value is not an image."""
    text = read_text(run, value)
    data = None if text is None else _bytes(text)
    header = None if data is None else image_header(data)
    if header is None:
        return {"_error": NO_IMAGE}
    return {
        "width": header.width,
        "height": header.height,
        "channels": header.channels,
        "bits": header.bits,
        "type": header.type,
    }


def _bytes(text: str) -> bytes | None:
    """Returns the bytes of a data URI, or those of the text itself; None for an invalid URI."""
    uri = _DATA.match(text)
    if uri is None:
        return bytes_of(text)
    try:
        return base64.b64decode(text[uri.end() :].encode("ascii"), validate=False)
    except (binascii.Error, UnicodeEncodeError):
        return None
