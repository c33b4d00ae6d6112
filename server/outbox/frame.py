"""The document around the HTML of outgoing mail, and the style of HTML that comes from Markdown.

Mail programs differ in what they preserve: Gmail and Outlook on the web drop most of the head, Outlook on Windows
renders with Word, phones and Apple Mail follow the head. So everything that matters is a `style` attribute with colours
that are readable on white and on black, and the head only adds to it."""

import re
import unicodedata
from html import escape

from server.markup import clean_html, quoted
from server.markup.clean import ImageUrl

# Segoe UI first: Word takes Times where it does not know the first font.
FONTS = "'Segoe UI', -apple-system, BlinkMacSystemFont, Roboto, 'Helvetica Neue', Arial, sans-serif"
FIXED = "Consolas, Menlo, 'Roboto Mono', 'Courier New', monospace"
LINE = "#a8b0b9"  # visible on white and on black
BODY_CLASS = "svc-body"
MAX_DIRECTION_CHARACTERS = 4_000  # the start of a text suffices to find its direction
# Tables without attributes, as in Markdown; newsletters use tables with attributes as page layout.
_UNDRESSED = "".join(f":not([{name}])" for name in ("style", "width", "border", "cellpadding", "bgcolor"))
_TABLE = f".{BODY_CLASS} table{_UNDRESSED}"
_LOOK = f"""
.svc-body p, .svc-body ul, .svc-body ol, .svc-body dl {{ margin: 0 0 14px }}
.svc-body li {{ margin: 0 0 4px }}
.svc-body li > p {{ margin: 0 0 4px }}
.svc-body h1 {{ font-size: 22px; line-height: 1.4; margin: 22px 0 10px }}
.svc-body h2 {{ font-size: 19px; line-height: 1.4; margin: 20px 0 8px }}
.svc-body h3, .svc-body h4, .svc-body h5, .svc-body h6 {{ font-size: 16px; line-height: 1.4; margin: 18px 0 6px }}
.svc-body blockquote {{ margin: 0 0 14px; padding: 0; padding-SIDE: 14px; border-SIDE: 3px solid {LINE} }}
.svc-body blockquote > :last-child {{ margin-bottom: 0 }}
.svc-body pre {{ margin: 0 0 14px; padding: 10px 12px; border: 1px solid {LINE}; white-space: pre-wrap;
  font-family: {FIXED}; font-size: 13px; line-height: 1.5 }}
.svc-body code {{ font-family: {FIXED}; font-size: 13px; background-color: rgba(127, 127, 127, .15) }}
.svc-body pre code {{ background-color: transparent }}
.svc-body hr {{ border: 0; border-top: 1px solid {LINE}; height: 1px; margin: 20px 0 }}
.svc-body img {{ max-width: 100%; height: auto }}
{_TABLE} {{ border-collapse: collapse; margin: 0 0 14px }}
{_TABLE} > * > tr > td, {_TABLE} > * > tr > th {{ border: 1px solid {LINE}; padding: 6px 10px; text-align: SIDE;
  vertical-align: top }}
{_TABLE} > * > tr > th {{ font-weight: 600 }}
"""
_LETTER = f"""
.svc-body {{ font-family: {FONTS}; font-size: 15px; line-height: 1.5; overflow-wrap: break-word;
  word-break: break-word }}
"""
_HEAD = """\
<!DOCTYPE html>
<html lang="{language}" dir="{direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="format-detection" content="telephone=no">
<meta name="x-apple-disable-message-reformatting">
<title>{title}</title>
{styles}</head>
<body style="margin: 0; padding: {padding}; -webkit-text-size-adjust: 100%">
"""
_WORD = """\
<!--[if mso]><style>
body, table, td, th, p, li, div, blockquote { font-family: "Segoe UI", Arial, sans-serif }
pre, code { font-family: Consolas, monospace; background: #f3f4f6 }
table { mso-table-lspace: 0; mso-table-rspace: 0 }
</style><![endif]-->
"""
# Only for messages without colours: dark letters that the author chose would be unreadable on a dark background.
# A message with colours gets a white background instead.
_DARK = """\
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<style>:root { color-scheme: light dark; supported-color-schemes: light dark }</style>
"""
_LIGHT = '<meta name="color-scheme" content="light">\n'
_PAPER = """
.svc-body { background-color: #ffffff; color: #1f2328; padding: 8px }
"""
_TAIL = "</body>\n</html>\n"
_COLOR = re.compile(r"""<[a-z][^<>]*?\s(?:bgcolor="|color="|style="[^"]*?(?:color|background)[\w-]*:)""")


def body_in_frame(html: str) -> str:
    """Wraps the message in an element that the default style applies to, with or without a template."""
    return f'<div class="{BODY_CLASS}">{html}</div>'


def document(
    html: str, *, title: str, language: str, text: str, image_url: ImageUrl | None = None, has_template: bool = False
) -> str:
    """Renders the whole HTML part of a mail. Raises TooLarge.

    html: the message in body_in_frame(), inside its template if it has one. text: the same as text, which decides the
    direction. A template brings its own fonts and colours."""
    direction = text_direction(text)
    is_coloured = has_template or bool(_COLOR.search(clean_html(html, allow_remote_images=True)))
    look = _LOOK if has_template else _LOOK + _LETTER + (_PAPER if is_coloured else "")
    look = look.replace("SIDE", "right" if direction == "rtl" else "left")
    content = clean_html(html, allow_remote_images=True, image_url=image_url, look=look)
    styles = ("" if has_template else _WORD) + (_LIGHT if is_coloured else _DARK)
    head = _HEAD.format(
        language=escape(language.replace("_", "-")),
        direction=direction,
        title=escape(title),
        styles=styles,
        padding="0" if is_coloured else "8px",
    )
    return f"{head}{content}\n{_TAIL}"


def text_direction(text: str) -> str:
    """`rtl` for a text with mostly right-to-left letters, else `ltr`; quotations do not count.

    >>> text_direction("שלום Ada"), text_direction("Hello"), text_direction("")
    ('rtl', 'ltr', 'ltr')"""
    head = text[:MAX_DIRECTION_CHARACTERS]
    said = "\n".join(part for kind, part in quoted.parts(head) if kind == "said") or head
    kinds = [unicodedata.bidirectional(each) for each in said]
    return "rtl" if sum(each in ("R", "AL") for each in kinds) > kinds.count("L") else "ltr"
