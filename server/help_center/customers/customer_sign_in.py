"""Signs customers in by a link that is mailed to them, or by the code that the link shows in another browser.

The request for a link does the same for every address: it stores a row and a job. The job mails the link if the address
may sign in. The link is created when the email is sent, so that no draft and no backup contains it. To open a link
changes nothing, since mail scanners do it; only a form of the browser that asked signs in."""

import hashlib
import hmac
import secrets
from typing import Any

from server.access import lockout
from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Invalid, TooMany
from server.help_center.customers import customer_sessions, customers
from server.jobs.expiry import expire
from server.jobs.job_queue import JobQueue, job
from server.mail import addresses
from server.mail.mail_bytes import new_message_id
from server.markup import text_to_html
from server.outbox.deliver import MailSpec
from server.outbox.sender import default_sender, way_of
from server.outbox.sending import send_soon
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.record_types.shared.secrets import digest, random_text
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from server.records import catalogs
from server.records.reading import RecordReader
from server.records.signed_names import keyed_digest, signing_key
from server.records.writing import RecordWriter
from server.sign_in import late_links
from server.sign_in.late_links import CODE, LateLink
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.tickets import letter
from server.tickets.types.draft import TOKEN_CHARS
from server.translation import N_, _, lazy_gettext, speaking

KIND = "customer_sign_in"  # kind of the job and of the link
KEY = "customer_sign_in_key"  # name of the signing key in signed_names
PATH = "/sign-in/link/"  # below the address of a help center
BROWSER_BYTES, LINK_BYTES = 32, 24
BROWSER_CHARS = 43  # length of BROWSER_BYTES in base64
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # no look-alikes
CODE_CHARS = 6
LINK_SECONDS = 900  # validity of a mailed link and its code
WAIT_SECONDS = 3600  # an email that is sent later is dropped
MAX_TRIES = 5  # codes that can be tried for one request
MAX_LINKS = 5  # requests an hour for one address from one network
MAX_LINKS_OF_ADDRESS = 15  # requests an hour for one address
MAX_LINKS_OF_NETWORK = 30  # requests an hour from one network
HOUR_SECONDS, DAY_SECONDS = 3600, 86400
MAX_EMAIL_CHARS, MAX_SECRET_CHARS, MAX_NEXT_CHARS = 254, 100, 300

CUSTOMER_SIGN_IN = Table(
    "customer_sign_in",
    [
        Column("email", "TEXT"),
        Column("brand_id", references="brand(id)"),
        Column("browser", "TEXT"),
        Column("network", "TEXT"),
        Column("link", "TEXT"),
        Column("code", "TEXT"),
        Column("next", "TEXT"),
        Column("language", "TEXT"),
        Column("created_at"),
        Column("expires_at"),
        Column("tries"),
    ],
    [
        Index(("browser",), "the request of a browser"),
        Index(("link",), "the request of a link"),
        Index(("email", "created_at"), "requests for an address"),
        Index(("network", "created_at"), "requests from a network"),
        Index(("brand_id",), "requests at a help center"),
        Index(("created_at",), "those that are over"),
    ],
)  # browser, network, link, code: digests; link and code are blank until the email is sent


@dataclass(frozen=True, slots=True)
class OpenedLink:
    """The content of an opened link. email: the address to sign in as, in the browser that requested the link. code: to
    type into that browser, if the link was opened in another one."""

    email: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session. session_id: for the cookie. next_path: the requested path, below the address of the help
    center."""

    session_id: str
    next_path: str


def clean_email(text: str) -> str:
    """Returns an address as it is stored. Raises Invalid."""
    email = text.strip().lower()
    if len(email) > MAX_EMAIL_CHARS or not addresses.valid(email):
        raise Invalid(lazy_gettext("Enter your email address, such as ann@example.com."), field="email")
    return email


def request_link(
    service: Service,
    brand: BrandProfile,
    email: str,
    *,
    browser: str,
    client: str,
    next_path: str,
    language: str,
    now: int,
) -> str:
    """Stores the request for a link and the job that mails it; returns the secret that identifies the browser.

    email: the result of clean_email. browser: the secret of an earlier request, so that both links work in it; "" for
    none. Raises TooMany, whether the address is known or not."""
    if len(browser) != BROWSER_CHARS:
        browser = secrets.token_urlsafe(BROWSER_BYTES)
    network = keyed_digest(signing_key(service, KEY), lockout.address(client))
    values = {"email": email, "brand_id": brand.id, "browser": digest(browser), "network": network}
    values |= {
        "next": next_path[:MAX_NEXT_CHARS],
        "language": language,
        "created_at": now,
        "expires_at": now + LINK_SECONDS,
    }

    def write(tx: Transaction) -> None:
        _require_left(tx, email, network, now)
        id = tx.insert(CUSTOMER_SIGN_IN, values)
        JobQueue.add(tx, KIND, now, {"id": id}, f"{KIND}:{id}")
        service.wake_after(tx)

    service.store.write(write)
    return browser


def open_link(service: Service, brand: BrandProfile, link: str, browser: str, now: int) -> OpenedLink | None:
    """Returns what a link opens, None for one that was used, has expired or is unknown. Changes nothing."""
    row = service.store.read(lambda tx: _row_of_link(tx, brand, link, now))
    if row is None:
        return None
    if _is_of_browser(row, browser):
        return OpenedLink(email=row["email"])
    return OpenedLink(code=code_of(link))


def sign_in_by_link(
    service: Service, brand: BrandProfile, link: str, browser: str, former: str, now: int
) -> SignedIn | None:
    """Signs in with a link, in the browser that requested it; returns None for any other link or browser. former: the
    present session of the browser, which ends."""
    ctx = own_context(service, now)

    def write(tx: Transaction) -> SignedIn | None:
        row = _row_of_link(tx, brand, link, now)
        if row is None or not _is_of_browser(row, browser):
            return None
        return _signed_in(RecordWriter(ctx, tx), row, brand, former)

    return service.store.write(write)


def sign_in_by_code(
    service: Service, brand: BrandProfile, code: str, browser: str, former: str, now: int
) -> SignedIn | None:
    """Signs in with the code of a link; returns None for a wrong code. Each request for a link allows MAX_TRIES
    codes."""
    ctx = own_context(service, now)
    typed = "".join(code.upper().split()).replace("-", "")[:MAX_SECRET_CHARS]

    def write(tx: Transaction) -> SignedIn | None:
        matching = None
        for row in _rows_of_browser(tx, brand, browser, now):
            tx.update(CUSTOMER_SIGN_IN, row["id"], {"tries": row["tries"] + 1})
            if row["code"] and hmac.compare_digest(row["code"], _code_digest(row["id"], typed)):
                matching = row
        return _signed_in(RecordWriter(ctx, tx), matching, brand, former) if matching is not None else None

    return service.store.write(write)


def waiting_email(service: Service, brand: BrandProfile, browser: str, now: int) -> str:
    """Returns the address for which a browser last requested a link, "" if none of its codes can still be used. Known
    and unknown addresses give the same result."""
    rows = service.store.read(lambda tx: _rows_of_browser(tx, brand, browser, now))
    return str(rows[-1]["email"]) if rows else ""


def sign_out(service: Service, session_id: str) -> None:
    """Ends a session."""
    service.store.write(lambda tx: customer_sessions.end(tx, session_id))


def code_of(link: str) -> str:
    """Returns the code of a link. Only the link determines it.

    >>> len(code_of("k7Qm2")), code_of("k7Qm2") == code_of("k7Qm3")
    (6, False)
    """
    number = int.from_bytes(hashlib.sha256(f"code {link}".encode()).digest()[:8], "big")
    return "".join(CODE_LETTERS[number >> 5 * place & 31] for place in range(CODE_CHARS))


# -- the email ---------------------------------------------------------------------------------------------------------


@job(KIND, N_("Mails the link with which a customer signs in"))
def _mail_link(service: Service, payload: dict[str, Any], now: int) -> None:
    """Mails a link, if its address may sign in. It runs in a job, so that a request takes the same time for every
    address."""
    ctx = own_context(service, now)
    row = service.store.read(lambda tx: tx.first(CUSTOMER_SIGN_IN, id=int(payload["id"])))
    if row is None:
        return
    values = dict(zip(CUSTOMER_SIGN_IN.names, row, strict=True))
    queued = service.store.write(lambda tx: _queue(RecordWriter(ctx, tx), values))
    if queued is not None and queued[1]:
        send_soon(service, *queued, now)


def _queue(writing: RecordWriter, row: dict[str, Any]) -> tuple[int, str] | None:
    brand = brands.brand_with_id(writing.tx, row["brand_id"])
    address = writing.find("address", email=row["email"])
    if brand is None or not customers.is_open(brand) or not customers.may_sign_in(writing, address):
        return None
    sender = _sender(writing, brand)
    way = way_of(writing.tx, writing.registry, sender["id"]) if sender is not None else None
    if sender is None or way is None:
        return None  # the email would leave days later, once there is a mail server
    mail = _mail(writing.ctx, row, brand, sender)
    params = {"to": row["email"], "subject": mail.subject, "content": mail.text}
    draft = {"type": TRANSACTIONAL, "name": mail.subject, "to": row["email"], "params": params}
    draft_id, claim = letter.queue(writing, mail, way, draft, 0)
    late_links.register_record(writing.tx, draft_id, KIND, row["id"])
    return draft_id, claim


def _sender(reading: RecordReader, brand: BrandProfile) -> dict[str, Any] | None:
    """Returns the sender address of the first group of the brand that has one, or else the default sender."""
    for group_id in sorted(brand.group_ids):
        group = reading.record("group", group_id)
        address = reading.record("address", group["reply_address_id"]) if group and group["reply_address_id"] else None
        if address is not None:
            return address
    return reading.record("address", default_sender(reading.tx))


def _mail(ctx: Context, row: dict[str, Any], brand: BrandProfile, sender: dict[str, Any]) -> MailSpec:
    catalog = catalogs.languages(ctx.service).catalog_for(row["language"])
    link = brands.address(ctx.service, brand) + PATH + CODE
    with speaking(catalog):
        subject = _("Sign in to {brand}", brand=brand.name)
        text = _(TEXT, email=row["email"], brand=brand.name, link=link, minutes=LINK_SECONDS // 60)
    return MailSpec(
        message_id=new_message_id(sender["email"].rpartition("@")[2]),
        date=ctx.now,
        zone="UTC",
        from_address_id=sender["id"],
        from_address=sender["email"],
        from_name=brand.name,
        subject=subject,
        token=random_text(TOKEN_CHARS),
        is_generated=True,
        text=text,
        html=text_to_html(text),
        language=catalog.language,
    )


def new_link(writing: RecordWriter, link: LateLink, to: str) -> str:
    """Creates the link of an email that leaves now; a former one no longer works."""
    row = _row(writing.tx, id=link.record_id)
    brand = brands.brand_with_id(writing.tx, row["brand_id"]) if row is not None else None
    if row is None or row["email"] != to or row["created_at"] + WAIT_SECONDS <= writing.now:
        raise Invalid("the request for this link was used or is too old; drop the email")
    if not customers.is_open(brand) or not customers.may_sign_in(writing, writing.find("address", email=to)):
        raise Invalid(f"{to} can no longer sign in to the help center; drop the email")
    secret = secrets.token_urlsafe(LINK_BYTES)
    values = {"link": digest(secret), "code": _code_digest(row["id"], code_of(secret))}
    writing.tx.update(CUSTOMER_SIGN_IN, row["id"], {**values, "expires_at": writing.now + LINK_SECONDS})
    return secret


late_links.declare(KIND, PATH, new_link)
TEXT = N_("""\
Somebody, hopefully you, asked to sign in to {brand} as {email}.

Open this address in the browser in which you asked. It works once, for {minutes} minutes:

{link}

In any other browser it shows a code, which you enter in the first one.

If it was not you, ignore this email. Do not share the code.
""")


# -- rows --------------------------------------------------------------------------------------------------------------


def _row(tx: Transaction, **equals: Any) -> dict[str, Any] | None:
    row = tx.first(CUSTOMER_SIGN_IN, **equals)
    return dict(zip(CUSTOMER_SIGN_IN.names, row, strict=True)) if row is not None else None


def _row_of_link(tx: Transaction, brand: BrandProfile, link: str, now: int) -> dict[str, Any] | None:
    if not link or len(link) > MAX_SECRET_CHARS:
        return None
    return _valid(_row(tx, link=digest(link)), brand, now)


def _rows_of_browser(tx: Transaction, brand: BrandProfile, browser: str, now: int) -> list[dict[str, Any]]:
    """The requests of a browser that allow further tries, the oldest first."""
    if not browser or len(browser) > MAX_SECRET_CHARS:
        return []
    found = tx.find(CUSTOMER_SIGN_IN, browser=digest(browser))
    rows = (dict(zip(CUSTOMER_SIGN_IN.names, row, strict=True)) for row in found)
    valid = [row for row in rows if _valid(row, brand, now) is not None and row["tries"] < MAX_TRIES]
    return sorted(valid, key=lambda each: int(each["id"]))


def _valid(row: dict[str, Any] | None, brand: BrandProfile, now: int) -> dict[str, Any] | None:
    is_valid = row is not None and row["brand_id"] == brand.id and row["expires_at"] > now
    return row if is_valid and customers.is_open(brand) else None


def _is_of_browser(row: dict[str, Any], browser: str) -> bool:
    return bool(browser) and len(browser) <= MAX_SECRET_CHARS and hmac.compare_digest(row["browser"], digest(browser))


def _signed_in(writing: RecordWriter, row: dict[str, Any], brand: BrandProfile, former: str) -> SignedIn | None:
    """Deletes the request for a link, and creates a session."""
    tx, address = writing.tx, writing.find("address", email=row["email"])
    tx.delete(CUSTOMER_SIGN_IN, id=row["id"])
    if address is None or not customers.may_sign_in(writing, address):
        return None
    customer_sessions.end(tx, former)
    if address["contact_id"] and writing.record("contact", address["contact_id"]) is not None:
        writing.set("contact", address["contact_id"], {"last_login_at": writing.now})
    return SignedIn(customer_sessions.create(tx, address["id"], row["email"], brand.id, writing.now), row["next"])


def _require_left(tx: Transaction, email: str, network: str, now: int) -> None:
    table: Any = CUSTOMER_SIGN_IN.sql
    since = now - HOUR_SECONDS
    of_address = tx.rows(
        lambda: table.select(table.network).where(table.email == slot(0), table.created_at > slot(1)), (email, since)
    )
    of_network = tx.rows(
        lambda: table.select(table.id).where(table.network == slot(0), table.created_at > slot(1)), (network, since)
    )
    own = sum(each == network for (each,) in of_address)
    if own >= MAX_LINKS or len(of_address) >= MAX_LINKS_OF_ADDRESS or len(of_network) >= MAX_LINKS_OF_NETWORK:
        raise TooMany(
            lazy_gettext("Too many links were requested. Use the newest email, or try again in an hour."),
            retry_after=HOUR_SECONDS,
        )


def _code_digest(id: int, code: str) -> str:
    return digest(f"{id} {code}")


forget_old = expire(
    N_("sign-in links of customers"),
    N_("Removes requests for sign-in links of the help center after a day."),
    CUSTOMER_SIGN_IN,
    "created_at",
    DAY_SECONDS,
)
