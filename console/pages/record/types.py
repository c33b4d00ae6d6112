"""All record types that a worker may list, in the groups of the settings."""

from console.html.ui import Sample
from console.http.navigation import (
    CHANNELS,
    CUSTOMERS_DATA,
    DEVELOPERS,
    PRODUCTIVITY,
    SYSTEM,
    TEAM,
    NavigationItem,
)
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.pages import settings_index
from server.record_types.record_type import RecordType
from server.records import records
from server.translation import N_, Words, _, in_sentence, shown

# {group: {type: description}}. Types that administrators created are added to the customers' data.
TYPES: dict[Words, dict[str, Words]] = {
    TEAM: {
        "worker": N_("People who work on tickets"),
        "group": N_("Teams with their tickets and addresses"),
        "bucket": N_("Trays of a group's tickets, such as refunds"),
        "role": N_("Privileges and the workers who have them"),
        "calendar": N_("Opening hours and holidays"),
        "calendar_event": N_("Free and busy times"),
        "calendar_event_recurring": N_("Free and busy times that repeat"),
        "reminder": N_("Notes that become notifications at a time"),
        "notification": N_("News for workers"),
        "time_entry": N_("Time that workers spent"),
        "timetracking_activity": N_("Kinds of work for time tracking"),
    },
    CHANNELS: {
        "address": N_("Email addresses of customers and of this helpdesk"),
        "mailbox": N_("Accounts from which email is fetched"),
        "mail_transport": N_("Servers through which email is sent"),
        "email_signature": N_("Closing lines of replies"),
        "html_template": N_("The layout around replies"),
        "brand": N_("Names, logos and host names of help centers"),
        "contact_form": N_("Forms by which visitors write to a group"),
        "call": N_("Telephone calls with customers"),
    },
    PRODUCTIVITY: {
        "snippet": N_("Texts to insert into replies"),
        "tag": N_("Words on tickets and customers, such as billing"),
        "ticket_status": N_("Names of statuses, such as Waiting for supplier"),
        "kb_article": N_("Help articles"),
        "kb_category": N_("Categories of help articles"),
        "saved_search": N_("Searches in the rail"),
        "service_target": N_("How soon to answer and to close tickets"),
        "automation": N_("Scripts and macros that do recurring work"),
        "automation_event": N_("Automations that run when something happens"),
        "automation_timer": N_("Automations that run at certain times"),
        "toolbar": N_("Buttons that run automations"),
        "project_board": N_("Columns side by side with records as cards"),
        "project_board_column": N_("Columns of boards, with their cards"),
        "workspace_page": N_("Pages of tabs for workers"),
        "workspace_tab": N_("Tabs of workspace pages"),
        "workspace_list": N_("Lists on a tab"),
        "workspace_widget": N_("Numbers and charts on a tab"),
    },
    CUSTOMERS_DATA: {
        "ticket": N_("Conversations with customers"),
        "message": N_("Emails of a ticket, received and sent"),
        "draft": N_("Emails that are being written"),
        "comment": N_("Notes on records"),
        "task": N_("Things to do, with a deadline"),
        "contact": N_("People outside the helpdesk"),
        "org": N_("Companies of customers"),
        "rating": N_("Whether customers were satisfied with tickets"),
        "opportunity": N_("Possible sales, with their amounts"),
        "asset": N_("Things with an owner, such as devices"),
        "attachment": N_("Files of messages and records"),
        "file_bundle": N_("Sets of files to attach together"),
        "currency": N_("Currencies of amounts"),
        "custom_field": N_("Fields of your own"),
        "custom_fieldset": N_("Sets of fields of your own"),
        "custom_record": N_("Record types of your own"),
    },
    DEVELOPERS: {
        "webhook_listener": N_("Addresses that other programs call"),
        "outgoing_webhook": N_("Programs that receive changes"),
        "oauth_app": N_("Programs that act for workers, with scopes"),
        "connected_service": N_("Other programs, with their settings"),
        "connected_account": N_("Accounts at other programs"),
        "resource": N_("Files of automations, some of them generated"),
        "package": N_("Configurations to import"),
        "bot": N_("Owners of behaviors that are not workers"),
        "behavior": N_("Decisions and actions of a bot"),
        "queue": N_("Queues of automations"),
        "metric": N_("Values that are counted or measured"),
    },
    SYSTEM: {
        "activity_log": N_("Who did what, and when"),
        "automation_log": N_("What automations logged, and their errors"),
    },
}  # fmt: skip
_OWN = N_("A record type of your own")
SAMPLE = Sample("GET", "/rest/data/query.json", [("q", "type:record.types")])


@page("GET", "/records")
def show(visit: Visit) -> PageResponse:
    """The record types with a list whose names or descriptions have every word of `q`, or synonyms of them."""
    offered = {each.uri: each for each in visit.service.registry if each.offers("search")}
    described = {uri for types in TYPES.values() for uri in types}
    own = {uri: _OWN for uri in offered if uri not in described}
    groups = {
        group: [
            _place(visit, offered[uri], about)
            for uri, about in {**(own if group == CUSTOMERS_DATA else {}), **types}.items()
            if uri in offered
        ]
        for group, types in TYPES.items()
    }
    return settings_index.show_places(visit, groups, N_("All records"), N_("Filter record types"), sample=SAMPLE)


def _place(visit: Visit, record_type: RecordType, about: Words) -> NavigationItem:
    """The entry of a type, with the page of a new record if the worker may create one."""
    uri = record_type.uri
    one, several = record_type.label_names
    new = f"/records/{uri}/new" if records.may(visit.ctx, uri, "create") else ""
    new_label = _("New {record}", record=in_sentence(shown(one)))
    return NavigationItem(f"/search/{uri}", several, " ".join(record_type.aliases), about=about, new=(new, new_label))
