"""The tickets of a customer: list, conversation, files, replies, and their data. A ticket that the customer cannot read
returns 404, like one that does not exist."""

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from console.help_center.customer_visit import customer_of, for_customer, is_own_form, private, render_for
from console.help_center.visitor import Visitor
from console.help_center.visitor_page import VisitorPage, see
from console.html.form import sentence
from console.html.templates import fragment
from server import clock, locales, times, translation
from server.context import Service
from server.errors import HelpdeskError, NotFound
from server.help_center.customers import (
    customer_data,
    customer_requests,
    data_archive,
    public_conversation,
    request_acts,
)
from server.help_center.customers.customer_requests import OwnRequest
from server.help_center.customers.customers import SignedInCustomer
from server.help_center.customers.public_conversation import PublicMessage
from server.help_center.customers.request_acts import SentFile
from server.markup import text_to_html
from server.markup.typed_text import MAX_QUERY_CHARS
from server.record_types.shared.brands import REQUESTS_PATH, request_path
from server.records import catalogs
from server.tickets.types.ticket_parts.status import CLOSED
from server.translation import _, ngettext, shown
from server.web.downloads import disposition, download
from server.web.endpoint_call import Response, id_of
from server.web.error_bodies import headers as error_headers
from server.web.error_bodies import status_and_code
from server.web.site import UNKNOWN_LENGTH

Act = Callable[[Service, SignedInCustomer, str, int], object]
DATA_PATH = "/your-data"
FORM_ID_BYTES = 12
MEGABYTE = 1024 * 1024
MAX_TYPED_CHARS = 2 * request_acts.MAX_REPLY_CHARS  # length of a refused text that a page shows again
DOCUMENT_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; sandbox allow-popups allow-popups-to-escape-sandbox"
)


@for_customer
def show_list(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """The tickets of the customer, a page at a time."""
    query = (visitor.query.text("q", "") or "")[:MAX_QUERY_CHARS]
    state = visitor.query.text("state", "") or ""
    state = state if state in customer_requests.STATES else ""
    is_shared = bool(customer.org_id) and visitor.query.text("of", "") == "organization"
    number = visitor.query.text("page", "") or ""
    found = customer_requests.list_requests(
        visitor.service,
        customer,
        query=query,
        state=state,
        is_shared=is_shared,
        page=int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 1,
    )
    filters = {"q": query, "state": state, "of": "organization" if is_shared else ""}

    def address(**changes: str) -> str:
        return visitor.place(REQUESTS_PATH, **{name: text for name, text in (filters | changes).items() if text})

    return render_for(
        visitor,
        customer,
        "requests.html",
        title=_("Your requests"),
        found=found,
        rows=[
            (each, _place(visitor, each), _word(each), _moment(visitor, customer, each.updated))
            for each in found.requests
        ],
        query=query,
        state=state,
        is_shared=is_shared,
        states=[
            ("", _("All")),
            *((name, shown(customer_requests.WORDS[id])) for name, id in customer_requests.STATES.items()),
        ],
        address=address,
        path=visitor.place(REQUESTS_PATH),
        data_path=visitor.place(DATA_PATH),
        sign_out_path=visitor.place("/sign-out"),
    )


@for_customer
def show_request(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """A ticket with its conversation and the forms of its customer."""
    request = _request(visitor, customer)
    if request.mask != visitor.arguments["mask"]:
        return see(_place(visitor, request), 302)  # it was merged into this one
    return _page(visitor, customer, request)


@for_customer
def document(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """The HTML of a message as a separate page, without scripts and without images of other servers."""
    request = _request(visitor, customer)
    message_id = id_of(visitor.arguments["id"])
    html = public_conversation.message_document(visitor.service, customer, request.id, message_id)
    if html is None:
        raise NotFound(_("There is no such page."))
    text = fragment("help_center/message_document.html", html=Markup(html), subject=request.subject)
    return VisitorPage(text, headers={"Content-Security-Policy": DOCUMENT_POLICY, "Referrer-Policy": "no-referrer"})


@for_customer
def file(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """A file of a message, as a download."""
    request = _request(visitor, customer)
    stored = public_conversation.file_of(visitor.service, customer, request.id, id_of(visitor.arguments["file"]))
    if stored is None:
        raise NotFound(_("There is no such page."))
    response = download(visitor.ctx, stored, visitor.request.headers.get("Range", ""))
    response.headers |= {
        "Cache-Control": "no-store",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }
    return VisitorPage(status=response.status, response=response)


# -- acts --------------------------------------------------------------------------------------------------------------


@private
def reply(visitor: Visitor) -> VisitorPage:
    """Stores a reply. If it is refused, its text stays in the form."""
    customer, mask = customer_of(visitor), visitor.arguments["mask"]
    text = visitor.form.text("text", "") or ""
    if customer is None:
        return _session_over(visitor, mask, text)
    request = _request(visitor, customer)
    if not is_own_form(visitor):
        return _page(visitor, customer, request, text=text, problem=_signed_in_again(), status=403)
    try:
        request_acts.reply(
            visitor.service,
            customer,
            request.mask,
            text,
            _uploads(visitor),
            visitor.form.text("form", "") or "",
            visitor.ctx.now,
        )
    except NotFound:
        raise
    except HelpdeskError as error:
        status, problem = status_and_code(error)[0], sentence(shown(error.message))
        return _page(visitor, customer, request, text=text, problem=problem, status=status)
    page = see(visitor.place(request_path(request.mask), done="sent"), 303)
    page.headers["Location"] += "#latest"
    return page


@for_customer
def close(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """Closes a ticket."""
    return _act(visitor, customer, request_acts.close, "closed")


@for_customer
def reopen(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """Opens a closed ticket."""
    return _act(visitor, customer, request_acts.reopen, "opened")


@for_customer
def add_colleague(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """Adds a colleague to a ticket."""
    request, email = _request(visitor, customer), visitor.form.text("email", "") or ""
    if not is_own_form(visitor):
        return _page(visitor, customer, request, email=email, problem=_signed_in_again(), status=403)
    try:
        request_acts.add_colleague(visitor.service, customer, request.mask, email, visitor.ctx.now)
    except NotFound:
        raise
    except HelpdeskError as error:
        status, problem = status_and_code(error)[0], sentence(shown(error.message))
        return _page(visitor, customer, request, email=email, email_problem=problem, status=status)
    return see(visitor.place(request_path(request.mask), done="added"), 303)


def _act(visitor: Visitor, customer: SignedInCustomer, act: Act, done: str) -> VisitorPage:
    request = _request(visitor, customer)
    if not is_own_form(visitor):
        return _page(visitor, customer, request, problem=_signed_in_again(), status=403)
    act(visitor.service, customer, request.mask, visitor.ctx.now)
    return see(visitor.place(request_path(request.mask), done=done), 303)


def _session_over(visitor: Visitor, mask: str, text: str) -> VisitorPage:
    """The page after a session has ended while a customer wrote."""
    return render_for(
        visitor,
        None,
        "session_over.html",
        title=_("Sign in again"),
        path=visitor.place(f"{request_path(mask)}/reply"),
        sign_in_path=visitor.place("/sign-in", next=request_path(mask)),
        text=text[:MAX_TYPED_CHARS],
        form_id=visitor.form.text("form", "") or secrets.token_urlsafe(FORM_ID_BYTES),
        status=401,
    )


def _signed_in_again() -> str:
    return _("You have signed in again since this page was opened. Check it, and send it again.")


# -- the customer's data -----------------------------------------------------------------------------------------------


@for_customer
def show_data(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """The page on which a customer downloads their data, or asks to erase it."""
    return _data_page(visitor, customer)


@for_customer
def download_data(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """The data of a customer as an archive, which is written while it is sent."""
    if not is_own_form(visitor):
        return _data_page(visitor, customer, problem=_signed_in_again(), status=403)
    try:
        archive = data_archive.begin(visitor.service, customer, visitor.ctx.now, _archive_html(visitor))
    except HelpdeskError as error:
        page = _data_page(visitor, customer, problem=sentence(shown(error.message)), status=status_and_code(error)[0])
        page.headers |= error_headers(error)
        return page
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": disposition("your-data.zip"),
        "X-Content-Type-Options": "nosniff",
        "X-Accel-Buffering": "no",  # nginx would store what the customer has not received
    }
    response = Response(headers=headers, content_type="application/zip", pieces=archive.pieces, length=UNKNOWN_LENGTH)
    return VisitorPage(response=response)


def _archive_html(visitor: Visitor) -> data_archive.Html:
    """Renders pages of the archive in the language of the visitor, on whatever thread sends it."""
    catalog = catalogs.languages(visitor.service).catalog_for(visitor.language)
    words = {"language": visitor.language, "direction": translation.direction(visitor.language), "brand": visitor.brand}

    def html(part: str, **values: Any) -> str:
        with translation.speaking(catalog):
            return str(fragment("help_center/customer_archive.html", part=part, **words, **values))

    return html


@for_customer
def ask_for_erasure(visitor: Visitor, customer: SignedInCustomer) -> VisitorPage:
    """Creates the request to erase the data of a customer."""
    if not is_own_form(visitor):
        return _data_page(visitor, customer, problem=_signed_in_again(), status=403)
    try:
        customer_data.ask_for_erasure(visitor.service, customer, visitor.ctx.now)
    except HelpdeskError as error:
        problem = sentence(shown(error.message))
        return _data_page(visitor, customer, problem=problem, status=status_and_code(error)[0])
    return see(visitor.place(DATA_PATH, done="asked"), 303)


def _data_page(visitor: Visitor, customer: SignedInCustomer, problem: str = "", status: int = 200) -> VisitorPage:
    return render_for(
        visitor,
        customer,
        "customer_data.html",
        title=_("Your data"),
        path=visitor.place(DATA_PATH),
        requests_path=visitor.place(REQUESTS_PATH),
        is_done=visitor.query.text("done", "") == "asked",
        most_megabytes=data_archive.MAX_FILE_BYTES // MEGABYTE,
        problem=problem,
        status=status,
    )


# -- parts -------------------------------------------------------------------------------------------------------------


def _request(visitor: Visitor, customer: SignedInCustomer) -> OwnRequest:
    request = customer_requests.find_request(visitor.service, customer, visitor.arguments["mask"])
    if request is None:
        raise NotFound(_("There is no such page."))
    return request


def _page(
    visitor: Visitor,
    customer: SignedInCustomer,
    request: OwnRequest,
    *,
    text: str = "",
    email: str = "",
    problem: str = "",
    email_problem: str = "",
    status: int = 200,
) -> VisitorPage:
    messages = public_conversation.read(visitor.service, customer, request.id)
    path = visitor.place(request_path(request.mask))
    done = visitor.query.text("done", "") if not visitor.is_post else ""
    return render_for(
        visitor,
        customer,
        "request.html",
        title=request.subject,
        request=request,
        word=_word(request),
        is_closed=request.status_id == CLOSED,
        opened=_moment(visitor, customer, request.created),
        messages=[_turn(visitor, customer, request, each) for each in messages],
        path=path,
        requests_path=visitor.place(REQUESTS_PATH),
        form_id=secrets.token_urlsafe(FORM_ID_BYTES),
        text=text[:MAX_TYPED_CHARS],
        email=email[:254],
        problem=problem,
        email_problem=email_problem,
        done=done if done in ("sent", "closed", "opened", "added") else "",
        most=request_acts.MAX_REPLY_CHARS,
        file_limits=_file_limits(),
        status=status,
    )


def _turn(
    visitor: Visitor, customer: SignedInCustomer, request: OwnRequest, message: PublicMessage
) -> dict[str, object]:
    """A message as the template shows it."""
    base = visitor.prefix + request_path(request.mask)
    return {
        "message": message,
        "at": _moment(visitor, customer, message.at),
        "iso": clock.utc_text(message.at),
        "html": Markup(message.html),
        "parts": [(kind, Markup(text_to_html(part))) for kind, part in message.parts if part.strip()],
        "files": [(each, f"{base}/files/{each.id}/{quote(each.name, safe='')}") for each in message.files],
        "document": f"{base}/messages/{message.id}" if message.has_html else "",
    }


def _file_limits() -> str:
    count = ngettext("{count} file", "{count} files", request_acts.MAX_FILES)
    each, total = request_acts.MAX_FILE_BYTES >> 20, request_acts.MAX_ALL_BYTES >> 20
    return _("At most {files}, {each} MB each and {total} MB in all.", files=count, each=each, total=total)


def _uploads(visitor: Visitor) -> list[SentFile]:
    uploads = visitor.uploads("files")
    return [SentFile(each.filename, each.content_type, each.content) for each in uploads if each.filename]


def _place(visitor: Visitor, request: OwnRequest) -> str:
    return visitor.place(request_path(request.mask))


def _word(request: OwnRequest) -> str:
    return shown(customer_requests.WORDS[request.status_id])


def _moment(visitor: Visitor, customer: SignedInCustomer, seconds: int) -> str:
    return locales.of(visitor.language).moment(datetime.fromtimestamp(seconds, times.zone(customer.timezone)))
