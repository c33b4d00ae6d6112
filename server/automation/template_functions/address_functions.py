"""Addresses in this service, of paths, files and pictures; and addresses inside HTML."""

import re
from collections.abc import Callable
from html import escape, unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from server.automation.template_functions import plain_function, template_function
from server.errors import Invalid, NotFound
from server.markup.clean import clean_html
from server.record_types.traits import Avatars
from server.records import records
from server.template.values import printed, truthy, whole

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost

IMAGE_PIXELS = 16
_AS_IT_IS = "/?&=#%:@,;+~.-_!$'()*"  # characters of a path that are significant, or need no quoting
_TAG = re.compile(r'<(a|img)((?: [a-z-]++="[^"]*+")++)')
_ADDRESS = re.compile(r' (href|src)="([^"]*+)"')


@template_function("svc_url")
def svc_url(host: "ServiceHost") -> Callable[..., str]:
    """Returns the address of a path of this service, or only the path if `full` is false. `full` has no other effect:
    there is no proxy prefix to omit."""
    base = host.ctx.service.base_url

    def address(path: Any, full: Any, proxy: Any) -> str:
        return (base if truthy(full) else "") + "/" + quote(printed(path).lstrip("/"), safe=_AS_IT_IS)

    return address


@template_function("svc_file_url")
def svc_file_url(host: "ServiceHost") -> Callable[..., str | None]:
    """Returns the download address of a file; null for an unknown one."""

    def address(id: Any) -> str | None:
        try:
            return str(records.retrieve(host.ctx, "attachment", whole(id))["url_download"])
        except NotFound:
            return None

    return address


@template_function("svc_avatar_url")
def svc_avatar_url(host: "ServiceHost") -> Callable[..., str]:
    """Returns the address of a record's picture. Raises NotFound for an unknown type, Invalid for one without
    pictures."""
    return lambda type, id, updated: _picture(host, type, id, updated)


@template_function("svc_avatar_image")
def svc_avatar_image(host: "ServiceHost") -> Callable[..., str]:
    """Returns HTML that shows the picture of a record."""

    def image(type: Any, id: Any, updated: Any) -> str:
        source = escape(_picture(host, type, id, updated))
        return f'<img src="{source}" width="{IMAGE_PIXELS}" height="{IMAGE_PIXELS}" alt="">'

    return image


def _picture(host: "ServiceHost", type: Any, id: Any, updated: Any) -> str:
    service = host.ctx.service
    record_type = service.registry.type(printed(type))
    if not record_type.has(Avatars):
        raise Invalid(f"{record_type.label_names[1].lower()} have no pictures")
    return f"{service.base_url}/avatars/{record_type.uri}/{whole(id)}?v={whole(updated)}"


@plain_function("svc_extract_uris")
def svc_extract_uris(html: str) -> dict[str, Any]:
    """Returns {tokens: {token: address}, context: {token: {tag, attribute}}, template}: the links and images of
    sanitized HTML, and the HTML with a token in place of each. Raises TooLarge."""
    tokens: dict[str, str] = {}
    context: dict[str, dict[str, str]] = {}

    def tag(match: re.Match[str]) -> str:
        def address(attribute: re.Match[str]) -> str:
            token = f"#uri-{len(tokens) + 1}"
            tokens[token] = unescape(attribute[2])
            context[token] = {"tag": match[1], "attribute": attribute[1]}
            return f' {attribute[1]}="{token}"'

        return f"<{match[1]}{_ADDRESS.sub(address, match[2])}"

    template = _TAG.sub(tag, clean_html(html, allow_remote_images=True))
    return {"tokens": tokens, "context": context, "template": template}
