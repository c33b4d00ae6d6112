"""Makes HTML from outside safe to show: elements, attributes and URLs by allow-list.

The result is final: pages include it unchanged, since edits after the sanitizer create holes. To change the URL of an
inline image, `image_url` is called during the cleaning."""

import re
from collections.abc import Callable

from server.errors import TooLarge
from server.late_pattern import late_pattern
from server.markup.balance import balanced
from server.markup.styles import harmless_style
from server.markup.stylesheets import body_attributes, css_of, dressed

MAX_HTML_BYTES = 1024 * 1024  # UTF-8; above it the caller shows the text
MAX_DATA_IMAGE_CHARACTERS = 1_400_000  # 1 MB in base64

TAGS = set(
    (
        "a abbr b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div dl dt em figcaption "
        "figure font h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strike strong sub sup "
        "table tbody td tfoot th thead time tr tt u ul var wbr"
    ).split()
)
_CELL = {"align", "valign", "bgcolor", "width", "height", "colspan", "rowspan", "nowrap"}
ATTRIBUTES = {
    "*": {"title", "dir", "lang", "style"},
    "a": {"href"},
    "col": {"span", "width", "align"},
    "colgroup": {"span", "width", "align"},
    "div": {"align"},
    "font": {"color", "size", "face"},
    "hr": {"width", "size", "align"},
    "img": {"src", "alt", "width", "height", "align", "border"},
    "li": {"value"},
    "ol": {"start", "type"},
    "p": {"align"},
    "table": {"align", "bgcolor", "border", "cellpadding", "cellspacing", "width", "height"},
    "td": _CELL,
    "th": _CELL | {"scope"},
    "tr": {"align", "valign", "bgcolor"},
    "ul": {"type"},
}
# The colours of text and background that a mail program writes where the author chose none: black or a dark grey,
# which may have a tint, and white or a light grey.
_TEXT = (
    r"black|windowtext|inherit|currentcolor|#([0-5])\1\1|#[0-2].[0-2].[0-2].|#([3-5]).\2.\2."
    r"|rgb\((\d\d?), ?\3, ?\3\)"
)
_GROUND = r"white|window|inherit|transparent|none|#([ef])\4\4|#([ef].)\5\5|rgb\((2[2-5]\d), ?\6, ?\6\)"
_COLORED = late_pattern(
    rf"""<(?!a\s)[^>]*?[ ";](?:color(?:: |=")(?!(?:{_TEXT})[;"])"""
    rf"""|(?:background-color: |bgcolor=")(?!(?:{_GROUND})[;"]))""",
    re.IGNORECASE,
)
_NAMES = set().union(*ATTRIBUTES.values())
_SELECTED = {"class", "id"}  # read by the selectors of rules, then removed

# Browsers ignore tabs and line ends inside a URL and control characters before it, so they are removed before checks.
_IGNORED = re.compile(r"[\x00-\x20]+")
_LINK = re.compile(r"(?:https?://|mailto:|cid:)", re.IGNORECASE)
_REMOTE = re.compile(r"https?://", re.IGNORECASE)
_DATA_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*\Z", re.IGNORECASE)

ImageUrl = Callable[[str], str | None]


def clean_html(
    html: str,
    *,
    allow_remote_images: bool = False,
    image_url: ImageUrl | None = None,
    new_tab: bool = True,
    look: str = "",
) -> str:
    """Makes HTML safe to show. Links: http, https, mailto, cid, in a new tab unless `new_tab` is False. Images: cid and
    data; http and https only with `allow_remote_images`. Styles: those that styles.py accepts; rules of `style`
    elements become attributes. No id, name or class.

    look: CSS rules of lower priority than those of the document. image_url: called with the URL of each image; returns
    the URL to show instead, such as the path of a download, or None to apply the rules above. Its results are trusted;
    it must not raise. Raises TooLarge above MAX_HTML_BYTES.

    >>> clean_html('<style>.a { color: red }</style><p class=a>Hi</p>')
    '<p style="color: red">Hi</p>'
    >>> clean_html('<p onclick="x()">Hi <img src="https://x.example/a.gif" alt="a"></p>')
    '<p>Hi <img alt="a"></p>'
    """
    source = html.encode("utf-8", "replace")
    if len(source) > MAX_HTML_BYTES:
        raise TooLarge(f"HTML of {len(source)} bytes is not shown; at most {MAX_HTML_BYTES} are", limit=MAX_HTML_BYTES)

    def value_to_keep(tag: str, name: str, value: str) -> str | None:
        if name == "src":
            return _image(value, allow_remote_images, image_url)
        if name == "href":
            return value if _LINK.match(_IGNORED.sub("", value)) else None
        if name == "style":
            return harmless_style(tag, value) or None
        return value

    import nh3  # a large library, which few of the first requests need

    return nh3.clean(
        _dressed(source.decode("utf-8"), look),
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=value_to_keep,
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}} if new_tab else {},
        url_schemes={"http", "https", "mailto", "cid", "data"},
        # Relative URLs have no meaning in a mail, but `image_url` may resolve those in stored HTML.
        url_relative="pass_through" if image_url else "deny",
    )


def is_colored(html: str) -> bool:
    """Returns whether sanitized HTML sets colours of text or background, apart from those of links.

    >>> is_colored('<p style="color: #222222">Hi</p>'), is_colored('<td bgcolor="#336699">Hi</td>')
    (False, True)
    """
    return _COLORED.search(html) is not None


def _dressed(html: str, look: str) -> str:
    """Returns balanced HTML with its style sheets and the attributes of its body moved into `style` attributes."""
    css, body = css_of(html), body_attributes(html)
    fragment = balanced(html, TAGS, _NAMES | _SELECTED if css or look else _NAMES)
    return dressed(fragment, body, css, look)


def _image(value: str, allow_remote: bool, image_url: ImageUrl | None) -> str | None:
    replacement = image_url(value) if image_url else None
    if replacement is not None:
        return replacement
    url = _IGNORED.sub("", value)
    if url[:4].lower() == "cid:":
        return url
    if len(url) <= MAX_DATA_IMAGE_CHARACTERS and _DATA_IMAGE.match(url):
        return url
    return url if allow_remote and _REMOTE.match(url) else None
