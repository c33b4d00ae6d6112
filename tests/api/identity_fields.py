"""Fields that determine an identity, the destination of mail or secrets, or the rights under which something runs:
which ones exist, who may write them, and why. Fields that are not in the table are not sensitive."""

import re
from dataclasses import dataclass

from server.access.parents import PARENTS
from server.fields import ContextName, Field, Id, IdList, Url
from server.people.types.worker import Password
from server.record_types.record_type import RecordType

# -- sensitive fields --------------------------------------------------------------------------------------------------

SOMEBODY = {
    "address", "bot", "bucket", "connected_account", "connected_service", "group", "mail_transport", "role", "worker",
}  # fmt: skip
NAMED = re.compile(
    r"email|sender|worker|author|uploader|actor|owner|member|participant|mention"  # identities
    r"|url|host|port$|callback|username|folder|protocol|uri$|reply_to|list_headers"  # destinations
    r"|password|secret|token|guid|client_id"  # credentials
    r"|^is_(superuser|disabled|enabled|mfa|private|public|pkce|dynamic|banned|defunct|outgoing)"
    r"|^is_default$|scopes|privs|kata$|^script$|params|event_point"  # rights and scripts
)


def is_sensitive(record_type: RecordType, field: Field) -> bool:
    """Returns whether a field must be in the table: it refers to one of our people, or its name suggests a sensitive
    value."""
    if field.immutable or "<" in field.name:
        return False
    target = getattr(field, "target", "")
    points = isinstance(field, Id | IdList) and (target in SOMEBODY or bool(getattr(field, "target_from", "")))
    is_parent = field.name in {each.column for each in PARENTS.values()} and bool(target)
    is_kind = isinstance(field, ContextName | Password | Url)
    return points or is_parent or is_kind or bool(NAMED.search(field.name))


# -- writers -----------------------------------------------------------------------------------------------------------

ADMINS = "administrators"  # and no one else, in any record
ITS_WORKER = "its worker"  # who can name only themselves; administrators can name others
ITS_OWNER = "its owner"  # who can only pass it on to owners they may act for
ITS_PARENT = "who may change what it belongs to"  # both the old and the new parent
MANAGERS = "managers of its group"
WRITERS = "who may write the record"  # it has no effect on us
TICKET = "who works on its ticket"  # as members of its group; authors of messages are covered by the tests of messages


@dataclass(frozen=True)
class Row:
    type: str
    field: str
    who: str
    why: str

    def __str__(self) -> str:
        return f"{self.type}.{self.field}"


_OWNED = "who owns it reads and changes it"
_TABLE: list[tuple[str, str, str, str]] = [
    # type, fields, who may write them, why
    ("activity_log", "actor__context actor_id target__context target_id params", ADMINS, "who did what to what"),
    ("address", "worker_id", ADMINS, "its mail counts as the worker's, who may sign in with it"),
    ("address", "mail_transport_id", ADMINS, "makes it one that we send from"),
    ("address", "email host is_banned is_defunct", WRITERS, "a customer's; one of ours: test_addresses_of_ours"),
    ("asset", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("automation", "script policy_kata", ADMINS, "runs as the service"),
    ("automation_event", "automations_kata", ADMINS, "what runs as the service, and when"),
    ("automation_resource", "token", ADMINS, "opens the bytes"),
    ("automation_timer", "automations_kata is_disabled", ADMINS, "what runs as the service, and when"),
    ("behavior", "bot_id", ITS_PARENT, "it runs as the bot"),
    ("behavior", "event_point is_disabled is_private uri", ITS_PARENT, "when it runs, and who may run it"),
    ("bot", "owner__context owner_id is_disabled mention_name", ADMINS, "whose behaviors run as the service"),
    ("brand", "host", ADMINS, "the host name at which its help center responds"),
    ("brand", "is_public", ADMINS, "whether everybody reads its published articles"),
    ("brand", "privacy_group_id", ADMINS, "the group that gets requests for erasure"),
    ("contact_form", "bucket_id", ADMINS, "where its tickets go"),
    ("contact_form", "group_id", ADMINS, "where its tickets go"),
    ("bucket", "group_id", MANAGERS, "whose tickets it takes; of both groups"),
    ("bucket", "is_default", MANAGERS, "where the group's mail goes"),
    ("bucket", "reply_address_id", MANAGERS, "who its mail comes from: an address of the group, test_senders"),
    ("calendar", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("calendar", "params", ITS_OWNER, "what is in it; nothing secret"),
    ("calendar_event", "calendar_id", ITS_PARENT, "whose it is"),
    ("calendar_event_recurring", "calendar_id", ITS_PARENT, "whose it is"),
    ("call", "is_outgoing", WRITERS, "a note about a call"),
    ("comment", "author__context author_id", ITS_WORKER, "who said it"),
    ("comment", "target__context target_id", WRITERS, "what it is about, if they may read it"),
    ("connected_account", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("connected_account", "params", ITS_OWNER, "credentials; written and never shown"),
    ("connected_account", "service_id", ADMINS, "where credentials go: only they see services"),
    ("connected_account", "uri", ITS_OWNER, "scripts name it so; a name that is taken stays whose it is"),
    ("connected_service", "params uri", ADMINS, "secrets, and where they go"),
    ("contact", "email email_id", WRITERS, "a customer's; one of ours: test_addresses_of_ours"),
    ("contact", "username", WRITERS, "a nickname; nobody signs in with it"),
    ("currency", "is_default", ADMINS, "what amounts elsewhere mean"),
    ("custom_field", "context custom_fieldset_id", ITS_PARENT, "which records have it"),
    ("custom_field", "params uri", ITS_PARENT, "what it takes and is called"),
    ("custom_fieldset", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("custom_fieldset", "context", ITS_OWNER, "which records take it"),
    ("custom_record", "params uri", ADMINS, "who may own and write records of the type"),
    ("draft", "worker_id", ITS_WORKER, "who sends it"),
    ("draft", "ticket_id", TICKET, "what it answers"),
    ("draft", "params token", ITS_WORKER, "the mail; sent with the rights of its worker"),
    ("email_signature", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("file_bundle", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("group", "reply_address_id", ADMINS, "who its mail comes from"),
    ("group", "reply_to list_headers", ADMINS, "where answers to its mail go, and what mail programs offer"),
    ("group", "members is_private is_default", ADMINS, "who reads and answers its tickets"),
    ("html_template", "owner__context owner_id", ADMINS, "what it shows is filled in as the service"),
    ("mail_transport", "params", ADMINS, "where mail goes, and a password"),
    ("mailbox", "connected_account_id folder host is_enabled password port protocol username", ADMINS,
     "where mail comes from, and a password"),
    ("message", "sender sender_id worker worker_id is_outgoing", TICKET, "who said it to whom"),
    ("message", "ticket_id token", TICKET, "where it was said"),
    ("metric", "dimensions_kata", ADMINS, "what is counted"),
    ("notification", "worker_id", ITS_WORKER, "who is told"),
    ("notification", "target__context target_id params", ITS_WORKER, "of what they tell themselves"),
    ("oauth_app", "callback_url url", ADMINS, "where codes go"),
    ("oauth_app", "client_id client_secret is_public is_pkce_required scopes service_worker_id", ADMINS,
     "what lets an app act for us"),
    ("org", "email_id", WRITERS, "the main address of an organization; nothing is sent there by itself"),
    ("org", "website", WRITERS, "a link to look at"),
    ("package", "uri", ADMINS, "what was imported"),
    ("project_board", "owner__context owner_id", WRITERS, "a note; boards are everybody's"),
    ("project_board", "cards_kata", WRITERS, "which automations draw cards, with the rights of the reader"),
    ("project_board", "params", WRITERS, "a text for other programs; nothing runs it"),
    ("project_board_column", "cards_kata functions_kata toolbar_kata", WRITERS,
     "which automations run, with the rights of whoever reads the board, moves a card or starts them"),
    ("project_board_column", "params", WRITERS, "a text for other programs; nothing runs it"),
    ("reminder", "worker_id", ITS_WORKER, "who is told"),
    ("resource", "automation_kata is_dynamic", ADMINS, "what runs as the service"),
    ("role", "member_query_worker editor_query_worker reader_query_worker", ADMINS, "who has its privileges"),
    ("role", "privs privs_mode", ADMINS, "privileges"),
    ("saved_search", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("saved_search", "context", ITS_OWNER, "what is searched, with the rights of who searches"),
    ("service_target", "calendar_id group_id is_disabled", ADMINS, "which tickets are due when"),
    ("snippet", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("snippet", "prompts_kata", ITS_OWNER, "what is asked; filled in with the rights of who uses it"),
    ("task", "owner_id", WRITERS, "who does it; tasks are everybody's"),
    ("ticket", "bucket_id group_id owner_id participants participant_ids", TICKET, "who works on it, who is answered"),
    ("ticket_status", "group_id", ADMINS, "whose tickets are offered the status"),
    ("time_entry", "worker_id", ITS_WORKER, "who worked"),
    ("toolbar", "toolbar_kata", ADMINS, "what runs as the service"),
    ("outgoing_webhook", "url assignee_id secret is_disabled", ADMINS,
     "who is told what, and what proves it"),
    ("webhook_listener", "automations_kata guid is_disabled", ADMINS, "what runs as the service, and what opens it"),
    ("worker", "email email_id email_ids at_mention_name", ADMINS, "who they are; their own: Account"),
    ("worker", "password is_superuser is_disabled is_mfa_required is_password_disabled", ADMINS, "who they are"),
    ("worker", "away_stand_in_id", ADMINS, "who is told of their customers' messages; their own: Account"),
    ("worker", "calendar_id", ADMINS, "when they are there"),
    ("workspace_list", "tab_id", ITS_PARENT, "whose it is"),
    ("workspace_list", "context params params_required params_required_query", ITS_PARENT,
     "what is searched, with the rights of who looks"),
    ("workspace_page", "owner__context owner_id", ITS_OWNER, _OWNED),
    ("workspace_page", "extension_params", ITS_OWNER, "how it looks"),
    ("workspace_tab", "page_id", ITS_PARENT, "whose it is"),
    ("workspace_tab", "params", ITS_PARENT, "how it looks"),
    ("workspace_widget", "tab_id", ITS_PARENT, "whose it is"),
    ("workspace_widget", "params", ITS_PARENT, "what it asks for, with the rights of who looks"),
]  # fmt: skip
ROWS = [Row(type, field, who, why) for type, fields, who, why in _TABLE for field in fields.split()]
