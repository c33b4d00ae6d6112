"""Public addresses of articles, for replies and for the team."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from server.context import Context
from server.errors import Conflict
from server.help_center.public_library import language_in
from server.markup.markdown import escape_markdown
from server.record_types.kb_article import PUBLISHED
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.records import records
from server.translation import _

URI = "kb_article"
SAFE = "/-._~"


def article_path(id: int, slug: str) -> str:
    """Returns the path of an article below the address of a help center and the language.

    >>> article_path(7, "refunds"), article_path(8, "größe")
    ('/a/7-refunds', '/a/8-gr%C3%B6%C3%9Fe')
    """
    return f"/a/{id}-{quote(slug, safe=SAFE)}"


def public_addresses(ctx: Context, articles: list[dict[str, Any]], group_id: int = 0) -> dict[int, str]:
    """Returns the addresses of the articles that visitors can read, by id: in the help center of the group's brand, if
    that shows it. articles: as the API returns them. group_id: 0 for none."""
    public = [each for each in records.reading(ctx, brands.all_brands) if each.is_public]
    own = brands.brand_of_group(public, group_id)
    ordered = [each for each in (own, *public) if each is not None]
    addresses = {each["id"]: _address(ctx, each, ordered) for each in articles if each["status"] == PUBLISHED}
    return {id: address for id, address in addresses.items() if address}


def _address(ctx: Context, article: Mapping[str, Any], public: list[BrandProfile]) -> str:
    for brand in public:
        language = language_in(brand, article["language"])
        if article["brand_id"] in (0, brand.id) and language:
            below = brands.language_prefix(brand, language)
            return f"{brands.address(ctx.service, brand)}{below}{article_path(article['id'], article['slug'])}"
    return ""


def link_to_article(ctx: Context, id: int, group_id: int = 0) -> str:
    """Returns the Markdown link to an article. Raises NotFound, Forbidden, and Conflict for one that visitors cannot
    read."""
    article = records.retrieve(ctx, URI, id)
    address = public_addresses(ctx, [article], group_id).get(id)
    if address is None:
        raise Conflict(_("Visitors cannot read this article: it is not published, or the help center is off."))
    return f"[{escape_markdown(article['title'])}]({address})"
