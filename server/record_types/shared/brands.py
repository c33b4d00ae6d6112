"""Reads brands, and builds the addresses of their help centers."""

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from server.context import Service
from server.dataclass import dataclass
from server.store.store_local import StoreLocal, VersionedLocal
from server.store.tables import table_named
from server.store.transaction import Transaction

if TYPE_CHECKING:
    from server.store.database import Store

VERSION = "help_center"  # version that rises when visitors may see something else
CHANGED = "brands"  # announcement to other processes: the host names of brands may have changed
REQUESTS_PATH = "/requests"  # below the address of a help center, where customers see their tickets
TRIAL_PATH = "/help-center"  # path of a help center without a host name of its own


@dataclass(frozen=True, slots=True)
class BrandProfile:
    """A brand as its pages use it. languages: tags, the first one first. footer_links: texts with their addresses.
    logo_id: of its picture, 0 for none. has_requests: whether customers can sign in and see their requests.
    privacy_group_id: the group that decides on erasure, 0 for none."""

    id: int
    name: str
    host: str
    languages: tuple[str, ...]
    accent: str
    footer_links: tuple[tuple[str, str], ...]
    group_ids: frozenset[int]
    is_public: bool
    logo_id: int
    has_requests: bool = False
    privacy_group_id: int = 0


_COLUMNS = (
    *("id", "name", "host", "languages", "accent", "footer_links", "group_ids", "is_public", "image_blob_id"),
    *("has_requests", "privacy_group_id"),
)


_BRANDS: VersionedLocal[tuple[BrandProfile, ...]] = VersionedLocal()  # each composed email reads them


def all_brands(tx: Transaction) -> tuple[BrandProfile, ...]:
    """Returns all brands, the oldest first."""
    return _BRANDS.read(tx, VERSION, _read_brands)


def _read_brands(tx: Transaction) -> tuple[BrandProfile, ...]:
    table = table_named("brand")
    rows = tx.rows(lambda: table.select(*(getattr(table.c, name) for name in _COLUMNS)).order_by(table.c.id))
    return tuple(_profile(*row) for row in rows)


def brand_with_id(tx: Transaction, id: int) -> BrandProfile | None:
    """Returns a brand, None if it was deleted."""
    return next((each for each in all_brands(tx) if each.id == id), None)


def brand_at(brands: Sequence[BrandProfile], host: str) -> BrandProfile | None:
    """Returns the brand with this host name, or for "" the one without."""
    return next((each for each in brands if each.host == host), None)


def brand_of_group(brands: Sequence[BrandProfile], group_id: int) -> BrandProfile | None:
    """Returns the brand that a group works for; that without a host name, or the only one, for a group of none."""
    own = next((each for each in brands if group_id in each.group_ids), None)
    return own or brand_at(brands, "") or (brands[0] if len(brands) == 1 else None)


def address(service: Service, brand: BrandProfile) -> str:
    """Returns the address of a brand's help center, without a slash at its end. Other hosts have the scheme and the
    port of portal_base_url, or of base_url without it."""
    portal = str(service.settings.portal_base_url)
    if not brand.host:
        return portal or service.base_url + TRIAL_PATH
    parts = urlsplit(portal or service.base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{brand.host}{port}"


def language_prefix(brand: BrandProfile, language: str) -> str:
    """Returns the beginning of paths in a language, "" for the first one of the brand."""
    return "" if language == brand.languages[0] else f"/{language}"


def request_path(mask: str) -> str:
    """Returns the path of a ticket below the address of a help center. It names the ticket and opens nothing by
    itself."""
    return f"{REQUESTS_PATH}/{quote(mask, safe='')}"


def request_address(service: Service, tx: Transaction, group_id: int, mask: str) -> str:
    """Returns the address of a ticket for its customers; "" if the brand of its group does not show them their
    requests."""
    brand = brand_of_group(all_brands(tx), group_id)
    if brand is None or not (brand.is_public and brand.has_requests):
        return ""
    return address(service, brand) + request_path(mask)


class BrandHosts:
    """The host names of brands, held in memory because they decide which site serves a request.

    A write replaces them at its commit (publish_hosts). Another process announces its writes; a process that meets a
    host name that it does not know reads them again (renew)."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._lock = threading.Lock()
        self._version = -1
        self.names: frozenset[str] = frozenset()
        self.renew()

    def renew(self) -> None:
        """Reads the host names, unless nothing that visitors see has changed."""
        version, names = self._store.read(self._read)
        self.replace(version, names)

    def replace(self, version: int, names: frozenset[str]) -> None:
        """Sets the host names, unless they are older than the present ones. version: that they were read at."""
        with self._lock:
            if version >= self._version:
                self._version, self.names = version, names

    def _read(self, tx: Transaction) -> tuple[int, frozenset[str]]:
        version = tx.version(VERSION)
        return version, self.names if version == self._version else _host_names(tx)


_HOSTS: StoreLocal[BrandHosts] = StoreLocal()


def brand_hosts(service: Service) -> BrandHosts:
    """Returns the host names of the brands of a service."""
    return _HOSTS.made(service.store, lambda: BrandHosts(service.store))


def publish_hosts(service: Service, tx: Transaction) -> None:
    """Replaces the host names once this transaction is committed, before its request is responded to, and announces
    the change."""
    hosts, version, names = brand_hosts(service), tx.version(VERSION), _host_names(tx)
    tx.at_commit(lambda: hosts.replace(version, names))
    service.store.announce_after(tx, CHANGED)


def own_hosts(service: Service, names: frozenset[str]) -> frozenset[str]:
    """Returns the host names at which nothing but a help center responds. That of the console is never one of them.
    names: of brands."""
    hosts = {service.settings.portal_host, *names}
    return frozenset(hosts - {"", console_host(service), service.settings.webhook_host})


def console_host(service: Service) -> str:
    """Returns the host name of the console."""
    return (urlsplit(service.base_url).hostname or "").rstrip(".")


def _host_names(tx: Transaction) -> frozenset[str]:
    table = table_named("brand")
    return frozenset(host for (host,) in tx.rows(lambda: table.select(table.c.host)))


def _profile(
    id: int,
    name: str,
    host: str,
    languages: str,
    accent: str,
    footer_links: str,
    group_ids: str,
    is_public: int,
    logo_id: int,
    has_requests: int,
    privacy_group_id: int,
) -> BrandProfile:
    links = (line.rpartition(" ") for line in footer_links.splitlines())
    return BrandProfile(
        id,
        name,
        host,
        tuple(each.strip() for each in languages.split(",")),
        accent,
        tuple((label.strip(), address) for label, _, address in links),
        frozenset(json.loads(group_ids)),
        bool(is_public),
        logo_id,
        bool(has_requests),
        privacy_group_id,
    )
