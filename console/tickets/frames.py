"""Parts of a ticket's page with separate addresses: the HTML of a message in its frame, its source, and the other
people on the ticket."""

from markupsafe import Markup

from console.html.templates import fragment
from console.http.live import latest_cursor, stream
from console.http.page_response import PageResponse, attachment, json_response
from console.http.routes import page
from console.http.visit import Visit
from console.tickets.show import ticket_of_mask
from server.context import Context
from server.markup import quoted
from server.people import presence
from server.record_types.shared.paths import ticket as path_of
from server.records import records
from server.tickets import following, message_html, originals, quoting, unseen
from server.web.endpoint_call import News

# A frame may display content and open links in another tab, but not run scripts.
SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"


@page("GET", "/messages/{id}/body")
def body(visit: Visit) -> PageResponse:
    """Renders the HTML of a message. images: whether to load remote images. dark: whether a message with colours of
    its own gets those of the page. text: whether to show the plain text instead. Raises NotFound, Forbidden."""
    if visit.query.flag("text"):
        content = str(records.retrieve(visit.ctx, "message", visit.id, "content")["content"])
        html = Markup('<div style="white-space: pre-wrap">{}</div>').format(content)
        return framed(document_of(visit, html))
    with_images, is_dark = visit.query.flag("images"), visit.query.flag("dark")
    message_body = message_html.message_html(visit.ctx, visit.id, with_images)
    more = visit.address(images="1") if message_body.has_remote_images else ""
    other = visit.address(dark="" if is_dark else "1") if message_body.is_colored else ""
    return framed(document_of(visit, message_body.html, more=more, other=other, is_dark=is_dark), with_images)


@page("GET", "/messages/{id}/quotation")
def show_quotation(visit: Visit) -> PageResponse:
    """Renders what a reply to a message quotes, for a frame. text: returns {text} instead, its Markdown. Raises
    NotFound, Forbidden."""
    if visit.query.flag("text"):
        return json_response({"text": quoting.of_reply(visit.ctx, visit.id, is_markdown=True).text})
    return framed(document_of(visit, quoting.of_reply(visit.ctx, visit.id).html))


def document_of(
    visit: Visit, html: str, *, more: str = "", other: str = "", is_dark: bool = False, wrong: str = ""
) -> str:
    """Returns the HTML document of a message, for `framed`. html: sanitized. more: the path that loads remote images,
    "" for none. other: of a message with colours of its own, the path that replaces them in the dark or, if `is_dark`,
    brings them back. wrong: a message above it."""
    return fragment(
        "message_body.html",
        html=Markup(html),
        theme=visit.preferences.theme,
        more=more,
        other=other,
        is_dark=is_dark,
        wrong=wrong,
        from_words=" ".join(sorted(quoted.FROM_WORDS)),
        sent_words=" ".join(sorted(quoted.SENT_WORDS)),
        wrote_words=" ".join(sorted(quoted.WROTE_WORDS)),
        device_lines=quoted.DEVICE_LINES,
    )


def framed(document: str, with_images: bool = False) -> PageResponse:
    """Returns a document for a frame, with a separate content security policy. document: sanitized."""
    images = " https: http:" if with_images else ""
    policy = (
        f"default-src 'none'; img-src 'self' data:{images}; style-src 'unsafe-inline'; frame-ancestors 'self'; "
        f"base-uri 'none'; form-action 'none'; sandbox {SANDBOX}"
    )
    headers = {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer"}
    return PageResponse(document, headers=headers)


@page("GET", "/messages/{id}/source")
def source(visit: Visit) -> PageResponse:
    """Returns the mail as it arrived, as a file. Raises NotFound, Forbidden."""
    content = originals.raw(visit.ctx, visit.id)
    return PageResponse(
        headers=attachment(f"message-{visit.id}.eml"),
        content_type="message/rfc822",
        pieces=lambda: iter((content,)),
        length=len(content),
    )


@page("POST", "/tickets/{mask}/presence")
def be_present(visit: Visit) -> PageResponse:
    """Records what the worker does on the ticket, or that they have left. doing: of presence.DOING, or left. seen: the
    mark of what they have seen when they leave."""
    id, doing = ticket_of_mask(visit)["id"], visit.form.text("doing", "")
    presence.note(visit.ctx, id, doing if doing in presence.DOING else "")
    seen = unseen.parse(visit.form.text("seen", ""))
    if seen is not None:
        unseen.store_look(visit.ctx, id, seen)
    return json_response({"people": _people(visit.ctx, id)})


@page("GET", "/tickets/{mask}/live")
def live(visit: Visit) -> PageResponse:
    """Streams changes of the ticket and of the people on it; returns {people} unless a stream is requested. Raises
    NotFound, Forbidden."""
    ticket = ticket_of_mask(visit)
    id, since = ticket["id"], latest_cursor(visit, following.VERSIONS)
    if since is None:
        return json_response({"people": _people(visit.ctx, id)})

    def news(ctx: Context, cursor: int) -> News:
        changes, upto, is_moved = following.since(ctx, id, cursor)
        if not changes and not is_moved:
            return News([], upto)
        return News([(upto, {"changes": changes, "people": _people(ctx, id)})], upto)

    return stream(presence.CHANNEL, path_of(ticket["mask"]), since, news)


def _people(ctx: Context, ticket_id: int) -> list[dict[str, object]]:
    return [{"name": each.name, "doing": each.doing} for each in presence.others(ctx, ticket_id)]
