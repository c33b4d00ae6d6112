"""Settings › Channels › Help center: the form and the switch of each brand, a list of its public content, and the votes
of visitors."""

import base64
from dataclasses import replace
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.samples import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from server.errors import HelpdeskError
from server.fields.structure import MAX_IMAGE_BYTES
from server.help_center import checklist, votes
from server.records import records
from server.translation import N_, _

URI, BASE = "brand", "/admin/help-center"
VOTES, CONTACT = f"{BASE}/votes", f"{BASE}/contact-forms"
VOTES_SAMPLE = Sample(
    "GET", "/rest/records/kb_article/search.json", [("q", "status:published"), ("expand", "helpful,unhelpful")]
)
TABS = [(BASE, N_("Help center")), (CONTACT, N_("Contact form")), (VOTES, N_("Votes"))]
MAX_COMMENTS = 100
LOGO_FORM_BYTES = 2 * MAX_IMAGE_BYTES
FORM = RecordForm(
    URI,
    (
        Control("name", N_("Name"), N_("Visitors see it on each page.")),
        Control(
            "host",
            N_("Host name"),
            N_("Such as help.example. Blank: the one of portal_base_url, or /help-center of this address for a trial."),
            kind="line",
        ),
        Control("languages", N_("Languages"), N_("Tags such as en, de, pt-BR, the first language first."), kind="line"),
        Control(
            "accent",
            N_("Color"),
            N_("Such as #0b5f8a. It is made darker or lighter where it could not be read."),
            kind="line",
            heading=N_("Look"),
        ),
        Control(
            "footer_links",
            N_("Links at the end of each page"),
            N_("One per line: a text and an address, such as Imprint https://example.com/imprint."),
            kind="area",
            attributes={"rows": 3, "spellcheck": "false"},
        ),
        Control("group_ids", N_("Groups that work for it"), "", kind="ticks", heading=N_("Groups")),
        Control(
            "has_requests",
            N_("Customers see their requests"),
            N_("They sign in by email, and can read, reply to and close their own tickets in its groups."),
            heading=N_("Your requests"),
        ),
        Control(
            "privacy_group_id",
            N_("Group that decides on erasure"),
            N_("It gets a ticket when a customer asks to erase their data."),
            none=N_("The group of their newest ticket"),
        ),
    ),
    has_customs=False,
)


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """All brands, with the numbers of what each shows."""
    return render(visit, "help_center_settings.html", brands=checklist.checklists(visit.ctx), base=BASE, tabs=TABS)


@page("POST", f"{BASE}/{{id}}/public", "proven admin")
def publish(visit: Visit) -> PageResponse:
    """Makes a brand public, or hides it."""
    is_on = visit.form.flag("on")
    brand = lookup.record(visit, URI, visit.id)
    try:
        records.update(visit.ctx, URI, visit.id, {"is_public": "1" if is_on else "0"})
    except HelpdeskError as error:
        visit.flash(sentence(error.message))
        return see(BASE)
    text = N_("Everybody can now read the help center of {name}.") if is_on else N_("{name} is no longer public.")
    visit.flash(_(text, name=brand["name"]))
    return see(BASE)


@page("GET", VOTES, "admin")
def show_votes(visit: Visit) -> PageResponse:
    """The votes on articles, and the newest comments."""
    return render(
        visit,
        "help_center_votes.html",
        tallies=votes.tallies(visit.ctx),
        comments=votes.comments(visit.ctx, MAX_COMMENTS),
        tabs=TABS,
        sample=VOTES_SAMPLE,
    )


def _open(visit: Visit, id: int) -> OpenForm:
    """The form, with all groups to choose from."""
    fields = FORM.open(visit, id)
    groups = [(group_id, name, "") for group_id, name in lookup.choices(visit, "group", "sort:name")]
    return fields.change(replace(fields.control("group_ids"), ticks=groups))


def _show(visit: Visit, fields: OpenForm) -> PageResponse:
    image = records.retrieve(visit.ctx, URI, fields.id)["_image_url"] if fields.id else ""
    return fields.render("brand.html", base=BASE, image="" if image.endswith("?v=0") else image)


def _logo(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """The uploaded logo; nothing if none was chosen. The field checks it."""
    if visit.form.flag("remove_logo"):
        return {"image": "data:null"}
    upload = visit.form.upload("logo") if "logo" in visit.form else None
    if upload is None or not upload.content:
        return {}
    return {"image": f"data:image/unknown;base64,{base64.b64encode(upload.content).decode()}"}


declare_pages(
    RecordPages(
        BASE,
        _open,
        _show,
        access="proven admin",
        form_bytes=LOGO_FORM_BYTES,
        more=_logo,
        created=N_("{name} created. Nobody sees it until you switch it on."),
        deleted="",
    )
)


@page("POST", f"{BASE}/{{id}}/delete", "proven admin")
def delete(visit: Visit) -> PageResponse:
    """Deletes a brand; its articles stay."""
    brand = lookup.record(visit, URI, visit.id)
    records.delete(visit.ctx, URI, visit.id)
    visit.flash(_("{name} deleted.", name=brand["name"]))
    return see(BASE)
