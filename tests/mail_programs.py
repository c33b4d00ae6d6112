"""Emails in the form of common mail programs: a first email, and a reply that quotes the email of a helpdesk.

All of them were written for these tests, with the parts, elements, names and lines of each program."""

import base64
import html
import io
import quopri
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from email import message_from_bytes, policy
from email.header import Header
from email.message import EmailMessage
from string import Template
from typing import NamedTuple

DESK = "support@desk.example"


class Sent(NamedTuple):
    """An email of the helpdesk that a customer replies to. html: the content of its body."""

    text: str
    html: str
    name: str
    message_id: str
    references: str
    subject: str


class Part(NamedTuple):
    """A part of an email: its header lines, and its encoded body."""

    head: str
    body: bytes


Pack = Callable[[str, str, list[Part], list[Part]], Part]  # text, HTML, pictures, files


class Program(NamedTuple):
    """A mail program. said: the typed lines of the reply, "" for a blank line; `first` is the same of the first email.
    quote, text_quote: what it adds to a reply, in its HTML and in its text; `$below` in `html` and `text` stands for
    them. paragraph: how it writes a typed line in HTML. headers: more of them; `Date` replaces the usual one. shown:
    lines below the typed ones that stay visible, such as a signature. packed: names of files that `pack` adds."""

    pack: Pack
    said: tuple[str, ...]
    html: str = ""
    quote: str = ""
    text: str = "$said\n\n$below"
    text_quote: str = ""
    paragraph: str = "<div>$line</div>"
    blank: str = "<div><br></div>"
    first: tuple[str, ...] = ("Hello,", "", "the pump leaks since Monday.", "", "Kind regards", "Ana Lund")
    files: tuple[str, ...] = ()
    headers: str = ""
    subject: str = "Pump 4711"
    shown: str = ""
    packed: tuple[str, ...] = ()
    charset: str = "utf-8"
    sender: str = "Ana Lund"


# -- parts ------------------------------------------------------------------------------------------------------------


def leaf(kind: str, content: bytes, head: str = "", *, is_text: bool = False) -> Part:
    """A part in base64, or in quoted-printable if it is a text."""
    coded = quopri.encodestring(content) if is_text else base64.encodebytes(content)
    encoding = "quoted-printable" if is_text else "base64"
    return Part(f"Content-Type: {kind}\n{head}Content-Transfer-Encoding: {encoding}\n", coded)


def multi(kind: str, *parts: Part, more: str = "") -> Part:
    """A multipart; one part alone stays as it is."""
    if len(parts) == 1:
        return parts[0]
    boundary = f"----=_Part_{kind}_{zlib.crc32(b''.join(each.body for each in parts)):08x}"
    body = b"".join(f"--{boundary}\n{each.head}\n".encode() + each.body + b"\n" for each in parts)
    return Part(f'Content-Type: multipart/{kind}; boundary="{boundary}"{more}\n', body + f"--{boundary}--\n".encode())


def text_part(text: str, charset: str = "utf-8", more: str = "") -> Part:
    return leaf(f"text/plain; charset={charset}{more}", text.encode(charset, "replace"), is_text=True)


def html_part(text: str, charset: str = "utf-8") -> Part:
    return leaf(f"text/html; charset={charset}", text.encode(charset, "xmlcharrefreplace"), is_text=True)


def outlook_parts(text: str, html: str, pictures: list[Part], files: list[Part]) -> Part:
    """Pictures belong to both alternatives; so it is in Outlook and Gmail."""
    both = multi("alternative", text_part(text), html_part(html))
    return multi("mixed", multi("related", both, *pictures), *files)


def narrow_parts(text: str, html: str, pictures: list[Part], files: list[Part]) -> Part:
    """The same in the charset that Outlook chooses for German."""
    both = multi("alternative", text_part(text, "iso-8859-1"), html_part(html, "iso-8859-1"))
    return multi("mixed", multi("related", both, *pictures), *files)


def related_parts(text: str, html: str, pictures: list[Part], files: list[Part]) -> Part:
    """Pictures belong to the HTML; so it is in most programs."""
    both = multi("alternative", text_part(text), multi("related", html_part(html), *pictures))
    return multi("mixed", both, *files)


def html_parts(_text: str, html: str, pictures: list[Part], files: list[Part]) -> Part:
    """No text: web.de and GMX."""
    return multi("mixed", multi("related", html_part(html), *pictures), *files)


def plain_parts(text: str, _html: str, pictures: list[Part], files: list[Part]) -> Part:
    return multi("mixed", text_part(text), *pictures, *files)


def flowed_parts(text: str, _html: str, pictures: list[Part], files: list[Part]) -> Part:
    """Long lines are broken after a blank, and joined by the reader (RFC 3676)."""
    return multi("mixed", text_part(_flowed(text), more="; format=flowed"), *pictures, *files)


def windows_parts(text: str, html: str, pictures: list[Part], files: list[Part]) -> Part:
    both = multi("alternative", text_part(text, "windows-1252"), html_part(html, "windows-1252"))
    return multi("mixed", both, *pictures, *files)


def apple_parts(text: str, html: str, pictures: list[Part], files: list[Part]) -> Part:
    """Files stand between two HTML parts, at the place where they were dropped."""
    end = html_part("<html><body><div><br></div></body></html>")
    rich = multi("mixed", html_part(html), *files, end) if files else html_part(html)
    return multi("alternative", text_part(text), multi("related", rich, *pictures))


def phone_parts(text: str, _html: str, pictures: list[Part], files: list[Part]) -> Part:
    """An iPhone without formatting: text, picture, text, and the typed words above all."""
    end = text_part("\n")
    return multi("mixed", text_part(text), *pictures, *files, *([end] if pictures or files else []))


def signed_parts(text: str, _html: str, _pictures: list[Part], files: list[Part]) -> Part:
    """PGP/MIME (RFC 3156)."""
    signature = Part(
        'Content-Type: application/pgp-signature; name="signature.asc"\nContent-Description: Digital signature\n',
        b"-----BEGIN PGP SIGNATURE-----\n\niHUEABYKAB0WIQT4711\n=abcd\n-----END PGP SIGNATURE-----\n",
    )
    inner = multi("mixed", text_part(text), *files)
    return multi("signed", inner, signature, more='; micalg=pgp-sha256; protocol="application/pgp-signature"')


def smime_parts(text: str, html: str, pictures: list[Part], files: list[Part]) -> Part:
    signature = leaf(
        'application/pkcs7-signature; name="smime.p7s"',
        b"0\x82\x01",
        'Content-Disposition: attachment; filename="smime.p7s"\n',
    )
    inner = related_parts(text, html, pictures, files)
    return multi("signed", inner, signature, more='; protocol="application/pkcs7-signature"; micalg=sha-256')


def winmail_parts(text: str, html: str, _pictures: list[Part], _files: list[Part]) -> Part:
    """Outlook in rich text: a text without HTML, and all else in winmail.dat."""
    rich = _value(0x102, 0x1013, html.encode() + b"\0") + _value(0x03, 0x3FDE, struct.pack("<I", 65001))
    file = (
        _attribute(0x9002, b"\0" * 14, 2),
        _attribute(0x8010, b"Offer.pdf\0", 2),
        _attribute(0x800F, FILES["offer"][1], 2),
    )
    packed = struct.pack("<IH", 0x223E9F78, 1) + _attribute(0x9003, struct.pack("<I", 2) + rich) + b"".join(file)
    winmail = leaf(
        'application/ms-tnef; name="winmail.dat"', packed, 'Content-Disposition: attachment; filename="winmail.dat"\n'
    )
    return multi("mixed", text_part(text), winmail)


def _attribute(id: int, content: bytes, level: int = 1) -> bytes:
    return struct.pack("<BHHI", level, id, 6, len(content)) + content + struct.pack("<H", sum(content) % 0x10000)


def _value(kind: int, id: int, content: bytes) -> bytes:
    padded = content + b"\0" * (-len(content) % 4)
    return struct.pack("<HH", kind, id) + (struct.pack("<II", 1, len(content)) if kind == 0x102 else b"") + padded


def calendar_parts(text: str, html: str, _pictures: list[Part], _files: list[Part]) -> Part:
    """An invitation: the appointment is an alternative of the text."""
    lines = (
        "BEGIN:VCALENDAR",
        "METHOD:REQUEST",
        "PRODID:-//Kite//EN",
        "VERSION:2.0",
        "BEGIN:VEVENT",
        "UID:4711@kite.example",
        "DTSTAMP:20261123T090000Z",
        "DTSTART:20261126T130000Z",
        "DTEND:20261126T140000Z",
        "SUMMARY:Visit about the pump",
        "LOCATION:Quay 7",
        "END:VEVENT",
        "END:VCALENDAR",
    )
    calendar = leaf("text/calendar; charset=utf-8; method=REQUEST", "\r\n".join(lines).encode())
    return multi("alternative", text_part(text), html_part(html), calendar)


def amp_parts(text: str, html: str, _pictures: list[Part], _files: list[Part]) -> Part:
    """A newsletter with a part for programs that run AMP."""
    amp = leaf("text/x-amp-html; charset=utf-8", b"<!doctype html><html amp4email><body>amp words</body></html>")
    return multi("alternative", text_part(text), amp, html_part(html))


def _flowed(text: str) -> str:
    """Breaks long lines after a blank, with the quotation marks on each line."""
    lines = []
    for line in text.split("\n"):
        marks = re.match(r"[> ]*", line)[0] if line.startswith(">") else ""  # type: ignore[index]
        words, width = line[len(marks) :].split(" "), 0
        lines.append(marks)
        for place, word in enumerate(words):
            if width + len(word) > 66:
                lines.append(marks)
                width = 0
            lines[-1] += word + (" " if place < len(words) - 1 else "")
            width += len(word) + 1
        if words == ["--", ""]:
            lines[-1] = f"{marks}-- "
    return "\n".join(lines)


# -- files ------------------------------------------------------------------------------------------------------------


def png(width: int, height: int, color: tuple[int, int, int]) -> bytes:
    """A picture of one color."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = (b"\0" + bytes(color) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pdf(words: str) -> bytes:
    """A page with a line of text."""
    content = f"BT /F1 24 Tf 72 720 Td ({words}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(written)
    return written + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def zipped(name: str, content: bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), content)
    return written.getvalue()


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
# {name: (file name, content, type)}; pictures stand in the HTML.
FILES = {
    "picture": ("image001.png", png(240, 120, (40, 120, 90)), "image/png"),
    "photo": ("IMG_0815.png", png(320, 200, (150, 90, 40)), "image/png"),
    "offer": ("Offer.pdf", pdf("Offer 4711"), "application/pdf"),
    "letter": ("Öffnungszeiten Werft.docx", zipped("word/document.xml", b"<w:document/>"), WORD),
    "archive": ("logs.zip", zipped("pump.log", b"0 bar"), "application/zip"),
    "log": ("pump log.txt", b"0 bar seit Montag\n", "text/plain"),
}
PICTURES = ("picture", "photo")
INLINE = '<img src="cid:$cid" width="240" alt="">'


def _file_part(name: str, cid: str) -> Part:
    file_name, content, kind = FILES[name]
    coded = file_name if file_name.isascii() else Header(file_name, "utf-8").encode()
    kind = f'{kind}; name="{coded}"'
    if name in PICTURES:
        head = f'Content-ID: <{cid}>\nContent-Disposition: inline; filename="{coded}"\n'
        return leaf(kind, content, head)
    return leaf(kind, content, f'Content-Disposition: attachment; filename="{coded}"\n')


# -- emails -----------------------------------------------------------------------------------------------------------


def read_sent(raw: bytes) -> Sent:
    """Reads an email of the helpdesk as a mail program does."""
    mail = message_from_bytes(raw, policy=policy.default)
    assert isinstance(mail, EmailMessage)
    plain, rich = (mail.get_body((kind,)) for kind in ("plain", "html"))
    text = plain.get_content() if plain is not None else ""
    body = re.search(r"<body[^>]*>(.*)</body>", rich.get_content(), re.DOTALL) if rich is not None else None
    name = mail["From"].addresses[0].display_name
    references = " ".join(filter(None, (mail.get("References"), mail["Message-ID"])))
    html_text = body[1].replace("\r\n", "\n") if body else ""
    return Sent(text, html_text, name, mail["Message-ID"], references, mail["Subject"])


def first_mail(program: Program, number: int) -> bytes:
    return _mail(program, program.first, None, number)


def reply_mail(program: Program, sent: Sent, number: int) -> bytes:
    return _mail(program, program.said, sent, number)


def address_of(number: int) -> str:
    return f"ana{number}@kite.example"


def message_id(number: int, *, is_reply: bool) -> str:
    return f"<{number}.{'reply' if is_reply else 'first'}@kite.example>"


def subject_of(program: Program, number: int) -> str:
    return f"{program.subject} {number}"


def _mail(program: Program, said: tuple[str, ...], sent: Sent | None, number: int) -> bytes:
    cid = f"part1.{number}.{'reply' if sent else 'first'}@kite.example"
    names = program.files if sent else ()
    values = {
        "said": "\n".join(said),
        "email": DESK,
        "from": f"{sent.name} <{DESK}>" if sent else "",
        "name": sent.name if sent else "",
        "subject": sent.subject if sent else "",
        "to": address_of(number),
        "plain": sent.text.strip().replace("\r\n", "\n") if sent else "",
    }
    values["marked"] = re.sub("^", "> ", values["plain"], flags=re.MULTILINE)
    first, _, rest = values["marked"].partition("\n>")
    values |= {"marked_start": first, "marked_rest": f">{rest}"}
    typed = (
        program
        if sent
        else program._replace(text="$said\n", html=program.html if "$said" in program.html else "<div>$said</div>")
    )
    text = _filled(typed.text, values, typed.text_quote if sent else "")
    values = {key: html.escape(value) for key, value in values.items()} | {
        "said": "".join(
            Template(program.paragraph).substitute(line=html.escape(line)) if line else program.blank for line in said
        ),
        "html": sent.html if sent else "",
        "picture": Template(INLINE).substitute(cid=cid) if {"picture", "photo"} & {*names} else "",
    }
    rich = _filled(typed.html, values, typed.quote if sent else "")
    pictures = [_file_part(each, cid) for each in names if each in PICTURES]
    part = program.pack(text, rich, pictures, [_file_part(each, "") for each in names if each not in PICTURES])
    return _head(program, sent, number).encode() + part.head.encode() + b"\n" + part.body


def _filled(form: str, values: dict[str, str], below: str) -> str:
    return Template(form).substitute(values, below=Template(below).substitute(values))


def _head(program: Program, sent: Sent | None, number: int) -> str:
    name = program.sender if program.sender.isascii() else Header(program.sender, "utf-8").encode()
    subject = f"Re: {sent.subject.removeprefix('Re: ')}" if sent else subject_of(program, number)
    headers = {
        "From": f"{name} <{address_of(number)}>",
        "To": DESK,
        "Subject": subject if subject.isascii() else Header(subject, "utf-8").encode(),
        "Date": "Mon, 23 Nov 2026 10:00:00 +0100",
        "Message-ID": message_id(number, is_reply=sent is not None),
        "MIME-Version": "1.0",
    }
    if sent:
        headers |= {"In-Reply-To": sent.message_id, "References": sent.references}
    headers |= dict(line.split(": ", 1) for line in program.headers.splitlines())
    return "".join(f"{key}: {value}\n" for key, value in headers.items() if value != "-")


# -- programs ---------------------------------------------------------------------------------------------------------

_WORD_HEAD = """<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"
xmlns:w="urn:schemas-microsoft-com:office:word" xmlns="http://www.w3.org/TR/REC-html40"><head>
<meta name=Generator content="Microsoft Word 15 (filtered medium)"><!--[if !mso]><style>
v\\:* {behavior:url(#default#VML);}</style><![endif]--><style><!--
@font-face {font-family:Calibri; panose-1:2 15 5 2 2 2 4 3 2 4;}
p.MsoNormal, li.MsoNormal, div.MsoNormal {margin:0cm; font-size:11.0pt; font-family:"Calibri",sans-serif;}
a:link, span.MsoHyperlink {mso-style-priority:99; color:#0563C1; text-decoration:underline;}
span.E-MailFormatvorlage19 {mso-style-type:personal-reply; font-family:"Calibri",sans-serif; color:windowtext;}
@page WordSection1 {size:612.0pt 792.0pt; margin:70.85pt 70.85pt 2.0cm 70.85pt;}
div.WordSection1 {page:WordSection1;}
--></style><!--[if gte mso 9]><xml><o:shapedefaults v:ext="edit" spidmax="1026" /></xml><![endif]--></head>"""
_WORD = (
    _WORD_HEAD
    + '<body lang=DE link="#0563C1" vlink="#954F72" style="word-wrap:break-word"><div class=WordSection1>$said'
    "<p class=MsoNormal>$picture<o:p></o:p></p><p class=MsoNormal><o:p>&nbsp;</o:p></p>$below</div></body></html>"
)
_WORD_LINE = '<p class=MsoNormal><span style="mso-fareast-language:EN-US">$line<o:p></o:p></span></p>'
_WORD_BLANK = "<p class=MsoNormal><o:p>&nbsp;</o:p></p>"
_BORDER = "border:none;border-top:solid {} 1.0pt;padding:3.0pt 0cm 0cm 0cm"
_HEAD_LINES = (
    "<b>From:</b> $name &lt;$email&gt; <br><b>Sent:</b> Monday, November 23, 2026 10:00 AM<br><b>To:</b> $to<br>"
    "<b>Subject:</b> $subject"
)
_TEXT_HEAD = "From: $from\nSent: Monday, November 23, 2026 10:00 AM\nTo: $to\nSubject: $subject\n\n$plain"
_GMAIL_QUOTE = (
    '<br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On Mon, Nov 23, 2026 at '
    '10:00\u202fAM $name &lt;<a href="mailto:$email">$email</a>&gt; wrote:<br></div><blockquote class="gmail_quote" '
    'style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">$html</blockquote></div>'
)
_GMAIL_TEXT = "On Mon, Nov 23, 2026 at 10:00\u202fAM $name <$email> wrote:\n\n$marked"
LONG = (
    "Der Druck fällt seit Montag, und zwar jedes Mal, wenn das Ventil am Steg geöffnet wird, obwohl die Dichtung "
    "im Frühjahr getauscht wurde; https://kite.example/boats/4711/log?from=2026-11-20&to=2026-11-23&sort=pressure"
)

PROGRAMS: dict[str, Program] = {
    "outlook for windows": Program(
        outlook_parts,
        ("Hallo Frau Berg,", "", LONG, "", "Viele Grüße", "Jörg Müller"),
        _WORD.replace("$below", "$below"),
        f'<div><div style="{_BORDER.format("#E1E1E1")}"><p class=MsoNormal><b>Von:</b> $name &lt;$email&gt; <br>'
        "<b>Gesendet:</b> Montag, 23. November 2026 10:00<br><b>An:</b> $to<br><b>Betreff:</b> $subject<o:p></o:p></p>"
        "</div></div><p class=MsoNormal><o:p>&nbsp;</o:p></p><div>$html</div>",
        text_quote="Von: $from\nGesendet: Montag, 23. November 2026 10:00\nAn: $to\nBetreff: $subject\n\n$plain",
        paragraph=_WORD_LINE,
        blank=_WORD_BLANK,
        files=("picture", "letter"),
        headers="X-Mailer: Microsoft Outlook 16.0\nThread-Index: AQHbPXk=\nContent-Language: de",
        sender="Jörg Müller",
    ),
    "outlook in rich text": Program(
        winmail_parts,
        ("The offer is attached.", "", "Regards", "Ana"),
        _WORD,
        f'<div style="{_BORDER.format("#B5C4DF")}"><p class=MsoNormal>{_HEAD_LINES}</p></div>$html',
        text_quote=_TEXT_HEAD,
        paragraph=_WORD_LINE,
        blank=_WORD_BLANK,
        packed=("Offer.pdf",),
        headers="X-MS-Has-Attach: yes\nX-MS-TNEF-Correlator: <4711>",
    ),
    "outlook on the web": Program(
        narrow_parts,
        ("Danke, das hilft schon. Ein Bild vom Zähler:", ""),
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><style type="text/css" '
        'style="display:none;"> P {margin-top:0;margin-bottom:0;} </style></head><body dir="ltr">$said$picture$below'
        "</body></html>",
        '<div id="appendonsend"></div><hr style="display:inline-block;width:98%" tabindex="-1"><div id="divRplyFwdMsg" '
        f'dir="ltr"><font face="Calibri, sans-serif" style="font-size:11pt" color="#000000">{_HEAD_LINES}</font><div>'
        "&nbsp;</div></div><div>$html</div>",
        text_quote=f"{'_' * 32}\n{_TEXT_HEAD}",
        paragraph='<div class="elementToProof" style="font-family: Aptos, Calibri; font-size: 12pt; color: rgb(0, 0, '
        '0);">$line</div>',
        blank='<div class="elementToProof"><br></div>',
        files=("picture",),
        headers="msip_labels: ",
    ),
    "outlook for mac": Program(
        outlook_parts,
        ("Yes, please send the seal to the quay.", "", "Best", "Ana"),
        "<html><head><style>@font-face{font-family:Aptos}p.MsoNormal{margin:0cm;font-size:12pt}</style></head><body "
        'lang="EN-GB"><div class="WordSection1">$said<div id="mail-editor-reference-message-container">$below</div>'
        "</div></body></html>",
        f'<div><div><div style="{_BORDER.format("#B5C4DF")}"><p class="MsoNormal" style="margin-bottom:12.0pt"><b>'
        '<span style="color:black">From: </span></b><span style="color:black">$name &lt;$email&gt;<br><b>Date: </b>'
        "Monday, 23 November 2026 at 10:00<br><b>To: </b>$to<br><b>Subject: </b>$subject</span></p></div>$html</div>"
        "</div>",
        text_quote="From: $from\nDate: Monday, 23 November 2026 at 10:00\nTo: $to\nSubject: $subject\n$plain",
        paragraph='<p class="MsoNormal"><span style="font-size:11.0pt">$line</span></p>',
        blank='<p class="MsoNormal">&nbsp;</p>',
        files=("offer",),
    ),
    "outlook on a phone": Program(
        related_parts,
        ("Passt, danke 👍",),
        '<html><head></head><body><div dir="auto">$said</div><div id="ms-outlook-mobile-body-separator-line" '
        'dir="ltr"><br></div><div id="ms-outlook-mobile-signature">Outlook für <a href="https://aka.ms/o0ukef">iOS</a> '
        "beziehen</div>$below</body></html>",
        '<div id="mail-editor-reference-message-container"><hr style="display:inline-block;width:98%"><div '
        f'id="divRplyFwdMsg" dir="ltr"><font face="Calibri, sans-serif">{_HEAD_LINES}</font><div>&nbsp;</div></div>'
        "$html</div>",
        text="$said\n\nOutlook für iOS<https://aka.ms/o0ukef> beziehen\n$below",
        text_quote=f"{'_' * 32}\n{_TEXT_HEAD}",
    ),
    "outlook express of 2009": Program(
        windows_parts,
        ("Schöne Grüße – die Pumpe läuft wieder.", "", "Jörg"),
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.0 Transitional//EN"><HTML><HEAD><META content="text/html; '
        'charset=windows-1252" http-equiv=Content-Type><META name=GENERATOR content="MSHTML 8.00.6001.18702"><STYLE>'
        "</STYLE></HEAD><BODY bgColor=#ffffff>$said$below</BODY></HTML>",
        '<BLOCKQUOTE style="BORDER-LEFT: #000000 2px solid; PADDING-LEFT: 5px; MARGIN-LEFT: 5px"><DIV style="FONT: '
        '10pt arial">----- Original Message ----- </DIV><DIV style="BACKGROUND: #e4e4e4; FONT: 10pt arial; font-color: '
        'black"><B>From:</B> <A title=$email href="mailto:$email">$name</A> </DIV><DIV style="FONT: 10pt arial"><B>To:'
        '</B> $to </DIV><DIV style="FONT: 10pt arial"><B>Sent:</B> Monday, November 23, 2009 10:00 AM</DIV><DIV '
        'style="FONT: 10pt arial"><B>Subject:</B> $subject</DIV><DIV><BR></DIV>$html</BLOCKQUOTE>',
        text_quote="----- Original Message ----- \nFrom: $from\nTo: $to\nSent: Monday, November 23, 2009 10:00 AM\n"
        "Subject: $subject\n\n\n$plain",
        paragraph="<DIV><FONT size=2 face=Arial>$line</FONT></DIV>",
        blank="<DIV>&nbsp;</DIV>",
        files=("log",),
        headers="Date: Mon, 23 Nov 2009 10:00:00\nX-Mailer: Microsoft Outlook Express 6.00.2900.5931\nX-Priority: 3",
        sender="Jörg Müller",
        charset="windows-1252",
    ),
    "gmail": Program(
        outlook_parts,
        ("Hi Nora,", "", "see the picture, the blue valve is it.", ""),
        '<div dir="ltr">$said$picture</div>$below',
        _GMAIL_QUOTE,
        text_quote=_GMAIL_TEXT,
        text="$said\n[image: image.png]\n\n$below",
        files=("picture", "offer"),
    ),
    "gmail, between the lines": Program(
        outlook_parts,
        ("It is the 4711.", "At the quay, since Monday."),
        '<div dir="ltr"><div dir="ltr"></div><div class="gmail_quote gmail_quote_container"><div dir="ltr" '
        'class="gmail_attr">On Mon, Nov 23, 2026 at 10:00\u202fAM Desk &lt;<a href="mailto:$email">$email</a>&gt; '
        'wrote:<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid '
        'rgb(204,204,204);padding-left:1ex"><p>Which pump is it?</p></blockquote><div>$said</div><blockquote '
        'class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">'
        "$html</blockquote></div></div>$below",
        text="On Mon, Nov 23, 2026 at 10:00\u202fAM Desk <$email> wrote:\n\n> Which pump is it?\n\n$said\n\n$marked\n"
        "$below",
    ),
    "gmail on a phone": Program(
        related_parts,
        ("Ok, bis morgen",),
        '<div dir="auto">$said$picture</div>$below',
        _GMAIL_QUOTE,
        text_quote=_GMAIL_TEXT,
        files=("photo",),
        paragraph="$line",
        blank='<div dir="auto"><br></div>',
    ),
    "apple mail": Program(
        apple_parts,
        ("Hello Nora,", "", "the log and a picture are attached.", "", "Ana"),
        '<html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"></head><body '
        'style="overflow-wrap: break-word; -webkit-nbsp-mode: space; line-break: after-white-space;">$said$picture<br '
        'id="lineBreakAtBeginningOfMessage">$below</body></html>',
        '<div><br><blockquote type="cite"><div>On 23. Nov 2026, at 10:00, $name &lt;$email&gt; wrote:</div><br '
        'class="Apple-interchange-newline"><div>$html</div></blockquote></div><br>',
        text_quote="> On 23. Nov 2026, at 10:00, $from wrote:\n> \n$marked",
        files=("picture", "archive"),
        headers="X-Mailer: Apple Mail (2.3774.600.62)",
    ),
    "apple mail on a phone": Program(
        related_parts,
        ("Danke, kommt morgen jemand?",),
        '<html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"></head><body dir="auto">$said'
        '<br><br><div dir="ltr">Von meinem iPhone gesendet</div>$below</body></html>',
        '<div dir="ltr"><br><blockquote type="cite">Am 23.11.2026 um 10:00 schrieb $name &lt;$email&gt;:<br><br>'
        '</blockquote></div><blockquote type="cite"><div dir="ltr">\ufeff$html</div></blockquote>',
        text="$said\n\nVon meinem iPhone gesendet\n\n$below",
        text_quote="> Am 23.11.2026 um 10:00 schrieb $from:\n> \n> \ufeff\n$marked",
        paragraph="$line",
        headers="X-Mailer: iPhone Mail (23B85)",
    ),
    "apple mail on a phone, a picture": Program(
        phone_parts,
        ("This is the valve:",),
        text="$said\n\nSent from my iPhone\n\n$below",
        text_quote="> On 23 Nov 2026, at 10:00, $from wrote:\n> \n$marked",
        files=("photo",),
        headers="X-Mailer: iPhone Mail (23B85)",
    ),
    "thunderbird": Program(
        related_parts,
        ("Hallo,", LONG, "Gruß, Ana"),
        '<!DOCTYPE html><html><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"></head><body>'
        "$said$picture$below</body></html>",
        '<div class="moz-cite-prefix">Am 23.11.26 um 10:00 schrieb $name:<br></div><blockquote type="cite" '
        'cite="mid:4711@desk.example"><meta http-equiv="content-type" content="text/html; charset=UTF-8">$html'
        '</blockquote><p><br></p><div class="moz-signature">-- <br>Ana Lund<br>Kite Ltd</div>',
        text="$said\n\n$below",
        text_quote="Am 23.11.26 um 10:00 schrieb $name:\n$marked\n\n-- \nAna Lund\nKite Ltd",
        paragraph="<p>$line</p>",
        files=("picture",),
        headers="User-Agent: Mozilla Thunderbird",
    ),
    "thunderbird, plain and below": Program(
        flowed_parts,
        (LONG, "", "Und noch etwas: Das Ventil klemmt."),
        text="$below\n\n$said\n\n-- \nAna Lund",
        text_quote="On 11/23/26 10:00, $name wrote:\n$marked",
        files=("log", "archive"),
        headers="User-Agent: Mozilla Thunderbird\nContent-Language: de",
    ),
    "yahoo": Program(
        related_parts,
        ("Thank you, that works now! 🎉",),
        '<html><head></head><body><div class="ydp4711yahoo-style-wrap" style="font-family:Helvetica Neue, Helvetica, '
        'Arial, sans-serif;font-size:16px;"><div></div><div dir="ltr" data-setdir="false">$said</div><div><br></div>'
        "</div>$below</body></html>",
        '<div id="yahoo_quoted_4711" class="yahoo_quoted"><div style="font-family:\'Helvetica Neue\', Helvetica, '
        'Arial, sans-serif;font-size:13px;color:#26282a;"><div>On Monday, November 23, 2026 at 10:00:00 AM GMT+1, '
        '$name &lt;$email&gt; wrote: </div><div><br></div><div><br></div><div><div id="yiv4711">$html</div></div>'
        "</div></div>",
        text_quote="    On Monday, November 23, 2026 at 10:00:00 AM GMT+1, $name <$email> wrote:  \n \n $plain",
        paragraph="$line",
    ),
    "protonmail": Program(
        related_parts,
        ("Encrypted greetings from Zürich.",),
        '<div style="font-family: Arial, sans-serif; font-size: 14px;">$said</div><div '
        'class="protonmail_signature_block" style="font-family: Arial, sans-serif; font-size: 14px;"><div '
        'class="protonmail_signature_block-user protonmail_signature_block-empty"></div></div>$below',
        '<div class="protonmail_quote">On Monday, November 23rd, 2026 at 10:00, $name &lt;$email&gt; wrote:<br>'
        '<blockquote class="protonmail_quote" type="cite">$html</blockquote><br></div>',
        text_quote="On Monday, November 23rd, 2026 at 10:00, $name <$email> wrote:\n\n$marked",
        paragraph="$line",
    ),
    "samsung email": Program(
        related_parts,
        ("Bin unterwegs, melde mich.",),
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"></head><body dir="auto"><div '
        'dir="auto">$said</div><div dir="auto"><br></div><div id="composer_signature" dir="auto"><div style="font-size:'
        '12px;color:#575757" dir="auto">Von meinem Galaxy gesendet</div></div>$below</body></html>',
        '<div dir="auto"><br></div><div dir="auto"><!-- originalMessage --><div>-------- Ursprüngliche Nachricht '
        "--------</div><div>Von: $name &lt;$email&gt; </div><div>Datum: 23.11.26  10:00  (GMT+01:00) </div><div>An: "
        "$to </div><div>Betreff: $subject </div><div><br></div></div>$html",
        text="$said\n\n\nVon meinem Galaxy gesendet\n\n$below",
        text_quote="-------- Ursprüngliche Nachricht --------\nVon: $from\nDatum: 23.11.26  10:00  (GMT+01:00)\n"
        "An: $to\nBetreff: $subject\n\n$plain",
        paragraph="$line",
    ),
    "k-9": Program(
        related_parts,
        ("Antwort aus dem Zug.",),
        '<!DOCTYPE html><html><body><div dir="auto">$said<br><br></div><div class="k9mail-signature">-- <br>Diese '
        "Nachricht wurde mit K-9 Mail gesendet.</div>$below</body></html>",
        '<br><br><div class="gmail_quote"><div dir="auto">Am 23. November 2026 10:00:00 MEZ schrieb $name '
        '&lt;$email&gt;:</div><blockquote class="gmail_quote" style="margin: 0pt 0pt 0pt 0.8ex; border-left: 1px solid '
        'rgb(204, 204, 204); padding-left: 1ex;">$html</blockquote></div>',
        text="$said\n-- \nDiese Nachricht wurde mit K-9 Mail gesendet.\n\n$below",
        text_quote="Am 23. November 2026 10:00:00 MEZ schrieb $from:\n$marked",
        paragraph="$line",
    ),
    "gmx": Program(
        html_parts,
        ("Guten Tag,", "die Rechnung stimmt jetzt.", "Mit freundlichen Grüßen"),
        '<html><head></head><body><div style="font-family: Verdana;font-size: 12.0px;">$said<div>&nbsp;$below</div>'
        "</div></body></html>",
        '<div name="quote" style="margin:10px 5px 5px 10px; padding: 10px 0 10px 10px; border-left:2px solid #C3D9E5; '
        'word-wrap: break-word;"><div style="margin:0 0 10px 0;"><b>Gesendet:</b>&nbsp;Montag, 23. November 2026 um '
        "10:00 Uhr<br><b>Von:</b>&nbsp;&quot;$name&quot; &lt;$email&gt;<br><b>An:</b>&nbsp;$to<br><b>Betreff:</b>&nbsp;"
        '$subject</div><div name="quoted-content">$html</div></div>',
        files=("offer",),
    ),
    "web.de, new": Program(
        html_parts,
        ("Hallo, es hat geklappt.",),
        '<html><head></head><body><div class="mail_android_message" style="line-height: 1; padding: 0.5em">$said</div>'
        "$below</body></html>",
        '<div class="mail_android_quote" style="line-height: 1; padding: 0.3em"><html><body>Am 23.11.26, 10:00 schrieb '
        '"$name" &lt;$email&gt;:</body></html><blockquote class="gmail_quote" style="margin: 0.8ex 0pt 0pt 0.8ex; '
        'border-left: 1px solid rgb(204, 204, 204); padding-left: 1ex;">$html</blockquote></div>',
        paragraph="$line",
    ),
    "lotus notes": Program(
        related_parts,
        ("Dear Ms Berg,", "", "the order is confirmed.", "", "Regards, Ana Lund"),
        '<span style=" font-size:10pt;font-family:sans-serif">$said</span>$below',
        '<br><br><br><br><span style=" font-size:9pt;color:#5f5f5f;font-family:sans-serif">From: &nbsp; &nbsp; &nbsp; '
        '&nbsp;</span><span style=" font-size:9pt;font-family:sans-serif">&quot;$name&quot; &lt;$email&gt;</span><br>'
        '<span style=" font-size:9pt;color:#5f5f5f;font-family:sans-serif">To: &nbsp; &nbsp; &nbsp; &nbsp;</span><span '
        'style=" font-size:9pt;font-family:sans-serif">$to</span><br><span style=" font-size:9pt;color:#5f5f5f;'
        'font-family:sans-serif">Date: &nbsp; &nbsp; &nbsp; &nbsp;</span><span style=" font-size:9pt;font-family:'
        'sans-serif">23.11.2026 10:00</span><br><span style=" font-size:9pt;color:#5f5f5f;font-family:sans-serif">'
        'Subject: &nbsp; &nbsp; &nbsp; &nbsp;</span><span style=" font-size:9pt;font-family:sans-serif">$subject</span>'
        "<br><hr noshade><br><br><br>$html<br>",
        text_quote="From:   $name <$email>\nTo:     $to\nDate:   23.11.2026 10:00\nSubject:        $subject\n\n\n\n"
        "$plain",
        paragraph="$line<br>",
        blank="<br>",
        headers="X-Mailer: HCL Notes Release 12.0",
    ),
    "zimbra": Program(
        related_parts,
        ("Bonjour,", "", "la pompe fuit toujours, c'est très gênant.", "", "Cordialement"),
        '<html><body><div style="font-family: arial, helvetica, sans-serif; font-size: 12pt; color: #000000">$said<div>'
        "<br></div>$below</div></body></html>",
        '<hr id="zwchr" data-marker="__DIVIDER__"><div data-marker="__HEADERS__"><b>De: </b>"$name" &lt;$email&gt;<br>'
        "<b>À: </b>$to<br><b>Envoyé: </b>Lundi 23 Novembre 2026 10:00:00<br><b>Objet: </b>$subject<br></div><div><br>"
        '</div><div data-marker="__QUOTED_TEXT__">$html</div>',
        text_quote="De: $from\nÀ: $to\nEnvoyé: Lundi 23 Novembre 2026 10:00:00\nObjet: $subject\n\n$plain",
        files=("letter",),
        headers="X-Mailer: Zimbra 9.0.0_GA_4583",
        sender="Aurélie Noël",
    ),
    "roundcube": Program(
        related_parts,
        ("Hi there,", "the second seal came today."),
        "<html><head><meta http-equiv='Content-Type' content='text/html; charset=UTF-8' /></head><body "
        "style='font-size: 10pt; font-family: Verdana,Geneva,sans-serif'>$said$below<br /></body></html>",
        '<p id="reply-intro">On 2026-11-23 10:00, $name wrote:</p><blockquote type="cite" style="padding: 0 0.4em; '
        'border-left: #1010ff 2px solid; margin: 0"><div id="replybody1">$html</div></blockquote>',
        text_quote="On 2026-11-23 10:00, $name wrote:\n\n$marked",
        paragraph="<p>$line</p>",
        headers="User-Agent: Roundcube Webmail/1.6",
    ),
    "mutt": Program(
        signed_parts,
        ("No, only the small one.", "", "Both since Monday."),
        text="$below",
        text_quote="On Mon, Nov 23, 2026 at 10:00:00AM +0100, $name wrote:\n$marked_start\n\n$said\n\n"
        "$marked_rest\n\n-- \nAna Lund · Kite",
        headers="User-Agent: Mutt/2.2.13 (2024-03-09)",
        files=("log",),
    ),
    "evolution": Program(
        related_parts,
        ("Hello,", "it is fixed in our office, too."),
        "<html><head><style>pre,code,address {margin: 0px;}</style></head><body>$said<div><br></div>$below"
        "</body></html>",
        '<div>On Mon, 2026-11-23 at 10:00 +0100, $name wrote:</div><blockquote type="cite" style="margin:0 0 0 .8ex; '
        'border-left:2px #729fcf solid;padding-left:1ex">$html</blockquote><div><br></div>',
        text_quote="On Mon, 2026-11-23 at 10:00 +0100, $name wrote:\n$marked",
        headers="User-Agent: Evolution 3.54.1",
    ),
    "em client": Program(
        related_parts,
        ("Dobrý den,", "čerpadlo stále teče."),
        '<html><head><style type="text/css">blockquote.cite {margin-left: 5px; padding-left: 10px; border-left: 1px '
        'solid #cccccc;} #x body {font-family: "Segoe UI"; font-size: 12pt;}</style></head><body>$said<div><br></div>'
        "$below</body></html>",
        '<div id="x4711"><div>------ Original Message ------</div><div>From "$name" &lt;<a href="mailto:$email">'
        "$email</a>&gt;</div><div>To $to</div><div>Date 23.11.2026 10:00:00</div><div>Subject $subject</div></div><div>"
        '<br></div><div id="x4712" class="cite2"><blockquote cite="4711" type="cite" class="cite2">$html</blockquote>'
        "</div>",
        text_quote='------ Original Message ------\nFrom "$name" <$email>\nTo $to\nDate 23.11.2026 10:00:00\n'
        "Subject $subject\n\n$marked",
        headers="User-Agent: eM_Client/10.1.4588.0",
    ),
    "spark": Program(
        related_parts,
        ("Great, thanks!",),
        '<html><head></head><body><div name="messageBodySection"><div dir="auto">$said</div></div><div '
        'name="messageSignatureSection"><br><div class="matchFont">Ana</div></div>$below</body></html>',
        '<div name="messageReplySection">On 23 Nov 2026 at 10:00 +0100, $name &lt;$email&gt;, wrote:<br><blockquote '
        'type="cite" style="border-left-color: grey; border-left-width: thin; border-left-style: solid; margin: 5px '
        '5px;padding-left: 10px;">$html</blockquote></div>',
        text="$said\n\nAna\n$below",
        text_quote="On 23 Nov 2026 at 10:00 +0100, $from, wrote:\n$marked",
        paragraph="$line",
        shown="Ana",
    ),
    "airmail": Program(
        related_parts,
        ("The address has changed, see below.",),
        '<html><head><style>body{font-family:Helvetica,Arial;font-size:13px}</style></head><body><div id="bloop_custom'
        'font" style="margin:0px">$said</div><br>$below</body></html>',
        '<p class="airmail_on">On 23 November 2026 at 10:00:00, $name (<a href="mailto:$email">$email</a>) wrote:</p> '
        '<div><blockquote type="cite" class="clean_bq"><span><div><div></div><div>$html</div></div></span></blockquote>'
        "</div>",
        text_quote="On 23 November 2026 at 10:00:00, $name ($email) wrote:\n\n$marked",
        paragraph="$line",
    ),
    "fastmail": Program(
        related_parts,
        ("All good now.",),
        '<!DOCTYPE html><html><head><title></title><style type="text/css">p.MsoNormal{margin:0}</style></head><body>'
        "$said<div><br></div>$below</body></html>",
        '<div>On Mon, 23 Nov 2026, at 10:00, $name wrote:<br></div><blockquote type="cite" id="qt" style="">$html'
        "</blockquote><div><br></div>",
        text_quote="On Mon, 23 Nov 2026, at 10:00, $name wrote:\n$marked",
    ),
    "qq mail": Program(
        related_parts,
        ("水泵还在漏水，请尽快处理。谢谢！",),
        '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">$said<div><br></div>$below',
        '<div style="position: relative;"><div style="font-size: 12px;font-family: Arial Narrow;padding:2px 0 2px 0;">'
        '------------------&nbsp;原始邮件&nbsp;------------------</div><div style="font-size: 12px;background:#efefef;'
        'padding:8px;"><div><b>发件人:</b> "$name" &lt;$email&gt;;</div><div><b>发送时间:</b>&nbsp;2026年11月23日'
        '(星期一) 上午10:00</div><div><b>收件人:</b>&nbsp;"ana"&lt;$to&gt;;</div><div><b>主题:</b>&nbsp;$subject</div>'
        "</div><div><br></div>$html</div>",
        text="$said\n\n\n\n$below",
        text_quote='------------------ 原始邮件 ------------------\n发件人: "$name" <$email>;\n发送时间: 2026年11月23日'
        '(星期一) 上午10:00\n收件人: "ana"<$to>;\n主题: $subject\n\n$plain',
        sender="林小雨",
        subject="水泵漏水",
    ),
    "netease": Program(
        related_parts,
        ("图片已附上。",),
        '<div style="line-height:1.7;color:#000000;font-size:14px;font-family:Arial">$said</div>$below',
        '<br><pre><br>At 2026-11-23 10:00:00, "$name" &lt;$email&gt; wrote:</pre><br><blockquote id="isReplyContent" '
        'style="PADDING-LEFT: 1ex; MARGIN: 0px 0px 0px 0.8ex; BORDER-LEFT: #ccc 1px solid">$html</blockquote>',
        text_quote='\n\n\nAt 2026-11-23 10:00:00, "$name" <$email> wrote:\n\n$marked',
        files=("letter",),
    ),
    "yandex": Program(
        related_parts,
        ("Здравствуйте, насос всё ещё течёт.",),
        "<div>$said</div><div> </div>$below",
        '<div>23.11.2026, 10:00, "$name" &lt;$email&gt;:</div><blockquote>$html</blockquote>',
        text_quote='23.11.2026, 10:00, "$name" <$email>:\n$marked',
        paragraph="$line",
        sender="Анна",
    ),
    "mail.ru": Program(
        related_parts,
        ("Спасибо, всё получилось.",),
        "<HTML><BODY><div>$said</div><div>&nbsp;</div>$below</BODY></HTML>",
        '<blockquote style="border-left:1px solid #0857A6; margin:10px; padding:0 0 0 10px;">Понедельник, 23 ноября '
        '2026, 10:00 +03:00 от $name &lt;<a href="mailto:$email">$email</a>&gt;:<br>&nbsp;<div id=""><div '
        'class="js-helper js-readmsg-msg">$html</div></div></blockquote>',
        text_quote="> Понедельник, 23 ноября 2026, 10:00 +03:00 от $from:\n> \n$marked",
        paragraph="$line",
        sender="Анна",
    ),
    "gmail, right to left": Program(
        outlook_parts,
        ("مرحبا نورا،", "المضخة لا تزال تسرب الماء."),
        '<div dir="rtl">$said</div>$below',
        _GMAIL_QUOTE.replace('dir="ltr" class="gmail_attr"', 'dir="rtl" class="x"'),
        text_quote=_GMAIL_TEXT,
        paragraph='<div dir="rtl">$line</div>',
        sender="نادية",
        subject="مضخة",
    ),
    "outlook signed with s-mime": Program(
        smime_parts,
        ("Signed as our policy wants it.", "", "Ana"),
        _WORD,
        f'<div style="{_BORDER.format("#E1E1E1")}"><p class=MsoNormal>{_HEAD_LINES}</p></div>$html',
        text_quote=_TEXT_HEAD,
        paragraph=_WORD_LINE,
        blank=_WORD_BLANK,
    ),
    "outlook calendar": Program(
        calendar_parts,
        ("I come by on Thursday.",),
        _WORD,
        f'<div style="{_BORDER.format("#E1E1E1")}"><p class=MsoNormal>{_HEAD_LINES}</p></div>$html',
        text_quote=_TEXT_HEAD,
        paragraph=_WORD_LINE,
        blank=_WORD_BLANK,
        packed=("Visit about the pump.ics",),
    ),
    "a newsletter program with amp": Program(
        amp_parts,
        ("We changed our opening hours.",),
        '<table width="900" cellpadding="0" bgcolor="#f4f4f4"><tr><td width="300">$said</td><td width="300">Mon to Fri'
        '</td><td width="300">8:00 to 17:00</td></tr></table>$below',
        _GMAIL_QUOTE,
        text_quote=_GMAIL_TEXT,
        shown="Mon to Fri 8:00 to 17:00",
        text="$said Mon to Fri 8:00 to 17:00\n\n$below",
    ),
}
