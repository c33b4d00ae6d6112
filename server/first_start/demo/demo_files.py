"""The attachments of the demo: a PDF, a picture, a text, each generated here with a few KB."""

import struct
import zlib
from collections.abc import Sequence
from random import Random

from server.dataclass import dataclass
from server.first_start.demo.story_words import Words

PDF, PNG, CSV, TEXT = "application/pdf", "image/png", "text/csv", "text/plain"
WIDTH, HEIGHT = 480, 300  # pixels of pictures
# The lines of documents; a line with tabs is a row of a table.
DOCUMENTS = {
    "invoice": ("{invoice}", ("INVOICE {invoice}", "{name}", "{street}, {city}", "", "Article\tPieces\tPrice",
                "{device}\t{n1}\t{amount}", "rolls of labels\t{qty}\t{amount4}", "", "Payable within 14 days.")),
    "quote": ("{quote}", ("QUOTE {quote}", "{name}", "", "Article\tPieces\tPrice", "{device}\t{n1}\t{amount}",
              "{part}\t{n2}\t{amount3}", "rolls of labels\t{qty}\t{amount4}", "", "Good for 30 days.")),
    "note": ("delivery-{order}", ("DELIVERY NOTE {order}", "{city}", "", "Article\tPieces", "{device}\t{qty}", "",
             "Checked by {worker2}")),
    "label": ("label-{rma}", ("RETURN {rma}", "", "To: Returns, Dock 3", "From: {name}", "", "Box\t1 of 1")),
    "contract": ("data-processing", ("DATA PROCESSING", "", "1. Where data is\tFrankfurt", "2. Who sees it\ttwo people",
                 "3. Backups\t30 days", "", "Date, signature")),
    "sheet": ("network-sheet", ("CARD READER: NETWORK", "", "Port\t9443, outgoing", "Protocol\tTCP with TLS",
              "Name servers\tthose of the shop", "", "Nothing has to be opened from outside.")),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DemoFile:
    """A file with its name and type."""

    name: str
    mime_type: str
    content: bytes


def file_of(kind: str, words: Words, rand: Random) -> DemoFile:
    """Returns the file of a kind for a ticket with these words."""
    if kind in DOCUMENTS:
        name, lines = DOCUMENTS[kind]
        return DemoFile(f"{words.say(name)}.pdf", PDF, pdf([words.say(each) for each in lines]))
    if kind in ("screenshot", "photo"):
        picture = _screenshot(rand) if kind == "screenshot" else _photo(rand)
        return DemoFile(f"{kind}-{rand.randint(100, 999)}.png", PNG, picture)
    if kind == "log":
        return DemoFile(words.say("log-{number}.txt"), TEXT, _log(words, rand).encode())
    rows = _report(rand) if kind == "report" else _articles(words, rand)
    return DemoFile(words.say("{day1}.csv" if kind == "report" else "import-{row}.csv"), CSV, rows.encode())


# -- texts -------------------------------------------------------------------------------------------------------------


def _log(words: Words, rand: Random) -> str:
    """Returns a log file with one relevant line."""
    done = ("sync: {n} records", "print queue: {n} jobs", "session renewed after {n} s", "battery {n} %")
    lines = [
        f"08:{minute:02}:{rand.randint(0, 59):02} INFO  {rand.choice(done).format(n=rand.randint(2, 98))}"
        for minute in range(3, 58, 3)
    ]
    lines.insert(rand.randint(4, len(lines)), words.say("08:59:59 ERROR code {number}: see the line before"))
    return "\n".join(lines) + "\n"


def _report(rand: Random) -> str:
    rows = [
        f"{rand.randint(4000, 9999)};{rand.randint(9, 18)}:{rand.randint(10, 59)};{rand.randint(5, 240)}.00"
        for _ in range(24)
    ]
    return "\n".join(("receipt;time;total", *rows)) + "\n"


def _articles(words: Words, rand: Random) -> str:
    names = ("Bell, brass", "Pump", "Lock", "Basket, wicker", words.say("{parts}"))
    rows = [f"{rand.randint(10000, 99999)},{rand.choice(names)},{rand.randint(2, 80)}.90" for _ in range(30)]
    return "\n".join(("number,name,price", *rows)) + "\n"


# -- PDF ---------------------------------------------------------------------------------------------------------------


def pdf(lines: Sequence[str]) -> bytes:
    """Returns a page with these lines: the first one is large, tabs separate columns. Characters are limited to
    Windows-1252.

    Follows ISO 32000-1, 7.5 File structure."""
    content = "\n".join(_drawn(place, line) for place, line in enumerate(lines)).encode("cp1252", "replace")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources <</Font <</F 4 0 R>>>> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    )
    return _with_table(objects)


def _drawn(place: int, line: str) -> str:
    size, y = (20, 770) if place == 0 else (11, 740 - 18 * place)
    return "\n".join(
        f"BT /F {size} Tf {60 + 190 * column} {y} Td ({_escaped(text)}) Tj ET"
        for column, text in enumerate(line.split("\t"))
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _with_table(objects: Sequence[bytes]) -> bytes:
    """Returns the objects as a file, with the cross-reference table."""
    written, starts = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        starts.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    size, table = len(objects) + 1, b"".join(b"%010d 00000 n \n" % start for start in starts)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(written))
    return written + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


# -- pictures ----------------------------------------------------------------------------------------------------------

Colors = Sequence[tuple[int, int, int]]


class _Canvas:
    """A picture of a few colours, drawn as rectangles."""

    def __init__(self, colors: Colors) -> None:
        self._colors = colors
        self._rows = [bytearray(WIDTH) for _ in range(HEIGHT)]

    def box(self, left: int, top: int, width: int, height: int, color: int) -> None:
        """Draws a rectangle, clipped at the edges."""
        right = min(left + width, WIDTH)
        for row in self._rows[top : top + height]:
            row[left:right] = bytes((color,)) * max(right - left, 0)

    def png(self) -> bytes:
        """Returns the file. Follows PNG (Third Edition), 5 Datastream structure."""
        head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)  # one byte per pixel, by palette
        pixels = zlib.compress(b"".join(b"\0" + row for row in self._rows))
        palette = b"".join(bytes(color) for color in self._colors)
        chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
            for name, data in chunks
        )


def _screenshot(rand: Random) -> bytes:
    """Returns a picture of a window with a menu and an almost empty list."""
    canvas = _Canvas(((236, 239, 243), (44, 62, 92), (255, 255, 255), (196, 203, 214), (200, 60, 50)))
    canvas.box(0, 0, WIDTH, 26, 1)
    canvas.box(96, 26, WIDTH, HEIGHT, 2)
    for place in range(7):
        canvas.box(12, 44 + 26 * place, rand.randint(36, 70), 9, 3)
    for place in range(rand.randint(1, 4)):
        canvas.box(116, 92 + 24 * place, rand.randint(80, 320), 9, 3)
    canvas.box(116, 48, 220, 22, 4)
    return canvas.png()


def _photo(rand: Random) -> bytes:
    """Returns a picture of a grey object on a bench, with a crack."""
    canvas = _Canvas(((214, 208, 196), (150, 118, 84), (92, 96, 102), (62, 66, 72), (20, 20, 22)))
    canvas.box(0, 200, WIDTH, 100, 1)
    left, top = rand.randint(60, 140), rand.randint(70, 110)
    canvas.box(left, top, 220, 150, 2)
    canvas.box(left + 20, top + 20, 180, 60, 3)
    x = left + rand.randint(30, 150)
    for y in range(top, top + 150, 3):  # downwards, with steps to the left or right
        x = max(left, min(x + rand.randint(-5, 5), left + 214))
        canvas.box(x, y, 3, 3, 4)
    return canvas.png()
