"""Checks that an SVG only draws: it has no scripts, contains no other documents, and loads no files. The policy under
which it is served forbids the same; this check explains a refusal at the upload."""

import re
from xml.parsers import expat

from server.errors import Invalid
from server.translation import N_, lazy_gettext

SVG_TYPE = "image/svg+xml"
MAX_ELEMENTS, MAX_DEPTH = 5000, 64
_NAMESPACE, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# Elements that draw, or that describe what is drawn; neither links, nor animation, nor content of another language.
_DRAWING = frozenset(
    """
    circle clipPath defs desc ellipse feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix
    feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR
    feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile
    feTurbulence filter g image line linearGradient marker mask metadata path pattern polygon polyline radialGradient
    rect stop style svg switch symbol text textPath title tspan use view
    """.split()
)
_OWN = re.compile(r"\s*(?:#|data:image/(?:png|jpeg|gif|webp);base64,)", re.IGNORECASE)
_CSS_URL = re.compile(r"url\(\s*['\"]?\s*(?!#|data:image/(?:png|jpeg|gif|webp);)", re.IGNORECASE)
_CSS_ACTIVE = re.compile(r"@import|expression\s*\(|\\", re.IGNORECASE)  # \: escapes, which hide the other two


def looks_like_svg(content: bytes) -> bool:
    """Whether a file claims to be an SVG."""
    return b"<svg" in content[:2000]


def require_plain(content: bytes) -> None:
    """Raises Invalid for an SVG that does more than draw. The message quotes the first offending part."""
    reader = _SvgReader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.refuse_declarations
    parser.ProcessingInstructionHandler = reader.refuse_instruction
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError):
        raise Invalid(N_("is not a valid SVG picture")) from None


class _SvgReader:
    def __init__(self) -> None:
        self._path: list[str] = []
        self._count = 0

    def refuse_declarations(
        self, name: str, system_id: str | None, public_id: str | None, has_declarations: bool
    ) -> None:
        """Refuses entities; a DOCTYPE alone loads nothing."""
        if has_declarations:
            raise _contains("<!DOCTYPE … [")

    def refuse_instruction(self, target: str, data: str) -> None:
        raise _contains(f"<?{target[:40]}?>")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        uri, _, local = name.rpartition(" ")
        if not self._path and (uri, local) != (_NAMESPACE, "svg"):
            raise Invalid(N_("is not a valid SVG picture"))
        self._path.append(local)
        self._count += 1
        if len(self._path) > MAX_DEPTH:
            raise Invalid(
                lazy_gettext("an SVG picture has at most {count} elements inside each other", count=MAX_DEPTH)
            )
        if self._count > MAX_ELEMENTS:
            raise Invalid(lazy_gettext("an SVG picture has at most {count} elements", count=MAX_ELEMENTS))
        if uri == "http://www.w3.org/1999/xhtml" or (uri == _NAMESPACE and local not in _DRAWING):
            raise _contains(f"<{local[:40]}>")
        for key, value in attributes.items():
            _check_attribute(key, value)

    def end(self, name: str) -> None:
        self._path.pop()

    def characters(self, text: str) -> None:
        if self._path and self._path[-1] == "style":
            _check_css(text)


def _check_attribute(key: str, value: str) -> None:
    uri, _, name = key.rpartition(" ")
    if name.lower().startswith("on"):
        raise _contains(name[:40])
    if name == "href" and uri in ("", _XLINK) and not _OWN.match(value):
        raise _contains(f"{name}=“{value.strip()[:40]}”")
    if not uri:
        _check_css(value)


def _check_css(text: str) -> None:
    if _CSS_URL.search(text) or _CSS_ACTIVE.search(text):
        raise _contains(" ".join(text.split())[:40])


def _contains(part: str) -> Invalid:
    return Invalid(
        lazy_gettext("contains {part}; save it as a plain SVG, without scripts and links, or as a PNG", part=part)
    )
