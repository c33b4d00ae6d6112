"""Files of the console as an app on a home screen: its manifest, its service worker, and the page that the worker shows
while the server cannot be reached.

Follows W3C Web App Manifest and Service Workers. The worker has the whole site as its scope, since a page of any
address may be opened without a connection; it acts only on loads of whole pages."""

import json

from console.html.rendering import render
from console.http import static_files
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.record_types.shared import brands
from server.records import records
from server.settings import VERSION
from server.translation import _, spoken

MANIFEST, WORKER, OFFLINE = "/manifest.webmanifest", "/service-worker.js", "/offline"
START, COMPOSE = "/inbox", "/compose"
GROUND, ACCENT = "#f6f7f9", "#0b5f8a"  # tokens of console.css
MAX_SHORT_NAME_CHARS = 12  # characters that home screens have room for
OFFLINE_FILES = ("console.css", "plain.css", "icon.svg", "back_online.js")
ICONS = (
    ("icon-192.png", "192x192", "any"),
    ("icon-512.png", "512x512", "any"),
    ("icon-maskable.png", "512x512", "maskable"),
)


@page("GET", MANIFEST, "anyone")
def manifest(visit: Visit) -> PageResponse:
    """The manifest, in the language of the page that refers to it. Only workers see the name of the team."""
    name = _team_name(visit) or _("Helpdesk")
    value = {
        "id": "/",
        "name": name,
        "short_name": name if len(name) <= MAX_SHORT_NAME_CHARS else _("Helpdesk"),
        "lang": spoken().tag,
        "dir": spoken().direction,
        "start_url": START,
        "scope": "/",
        "display": "standalone",
        "background_color": GROUND,
        "theme_color": ACCENT,
        "icons": [
            {"src": static_files.address(file), "sizes": sizes, "type": "image/png", "purpose": purpose}
            for file, sizes, purpose in ICONS
        ],
        "shortcuts": [{"name": _("Inbox"), "url": START}, {"name": _("New ticket"), "url": COMPOSE}],
    }
    text = json.dumps(value, ensure_ascii=False)
    return PageResponse(text, content_type="application/manifest+json; charset=utf-8")


@page("GET", WORKER, "anyone")
def worker(visit: Visit) -> PageResponse:
    """The script of the service worker, with the addresses of this version's files: another version is another script,
    which browsers install at once."""
    constants = {
        "VERSION": f"{VERSION} {static_files.version()}",
        "FILES": [OFFLINE, *map(static_files.address, OFFLINE_FILES)],
        "ICON": static_files.address("icon-192.png"),
        "BADGE": static_files.address("icon-badge.png"),
    }
    head = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    text = head + static_files.source("service_worker.js")
    return PageResponse(text, content_type="text/javascript; charset=utf-8")


@page("GET", OFFLINE, "anyone")
def offline(visit: Visit) -> PageResponse:
    """The page without a connection. It is the same for everybody, since the browser stores it."""
    return render(visit, "offline.html")


def _team_name(visit: Visit) -> str:
    """The name of the brand that groups work for; "" for visitors, or if there are several."""
    if visit.session is None or visit.session.waits_for_code:
        return ""
    brand = brands.brand_of_group(records.reading(visit.ctx, brands.all_brands), 0)
    return brand.name if brand is not None else ""
