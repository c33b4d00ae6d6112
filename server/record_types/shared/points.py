"""Activity points: the kinds of activity entries, with their sentences. Data only; entries.py renders them."""

import re
from collections.abc import Mapping
from typing import Any

from server.dataclass import dataclass
from server.errors import NotFound, Required, nearest
from server.record_types.shared import act_sentences

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z0-9_]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class ActivityPoint:
    """A kind of entry. pattern: its sentence with `{{placeholder}}`. placeholders: those that the writer must fill;
    `actor` is filled by the service. is_administrative: whether only administrators, the actor and the worker
    concerned see its entries. is_reserved: whether only the service writes them. on_ticket: the sentence on the page
    of its ticket, "" for the same one."""

    id: str
    name: str
    pattern: str
    placeholders: tuple[str, ...]
    is_administrative: bool = False
    is_reserved: bool = False
    on_ticket: str = ""

    def missing(self, variables: Mapping[str, Any]) -> list[str]:
        """The placeholders without a value."""
        return [name for name in self.placeholders if variables.get(name) in (None, "")]

    def describe(self) -> dict[str, Any]:
        """The entry in the list of activity events."""
        return {
            "id": self.id,
            "name": self.name,
            "options": [] if self.is_reserved else ["api_create"],
            "text": {"key": f"activities.{self.id}", "value": self.pattern},
        }


# {pattern: sentence if the actor is the worker it is about}
OWN = {
    "{{actor}} assigned ticket {{target}} to {{worker}}": "{{actor}} took ticket {{target}}",
    "{{actor}} assigned the ticket to {{worker}}": "{{actor}} took the ticket",
}
NAMED = "ticket.status.named"  # the sentence of every change of status that sets a name
# {pattern: (variable, sentence of an entry with this variable)}
WITH = {
    "{{actor}} assigned ticket {{target}} to {{worker}}": (
        "way",
        "Ticket {{target}} assigned to {{worker}} ({{way}})",
    ),
    "{{actor}} assigned the ticket to {{worker}}": ("way", "Assigned to {{worker}} ({{way}})"),
    "{{actor}} unassigned ticket {{target}}": (
        "before",
        "Ticket {{target}} went back to its group: {{before}} is not available",
    ),
    "{{actor}} unassigned the ticket": ("before", "Went back to the group: {{before}} is not available"),
    "{{actor}} signed in from {{ip}} with {{user_agent}}": (
        "provider",
        "{{actor}} signed in with {{provider}} from {{ip}} with {{user_agent}}",
    ),
}
# {activity point: sentence on the page of its ticket}
ON_TICKET = {
    "connection.link": "{{actor}} linked the ticket with {{link_object}} {{link}}",
    "connection.unlink": "{{actor}} removed the link with {{link_object}} {{link}}",
    "ticket.answer.refused": "The email reply of {{worker}} was not sent: {{reason}}",
    "ticket.macro": "{{actor}} ran the macro {{macro}}",
    "ticket.message.changed": "{{actor}} changed {{what}} of message {{message}}",
    "ticket.message.held": "{{actor}} wrote first, so the scheduled message is a draft again",
    "ticket.message.relay": "A message was forwarded to {{worker}} at {{worker_email}}",
    "ticket.moved": "{{actor}} moved the ticket to {{group}}, {{bucket}}",
    "ticket.owner.assigned": "{{actor}} assigned the ticket to {{worker}}",
    "ticket.owner.unassigned": "{{actor}} unassigned the ticket",
    "ticket.participant.added": "{{actor}} added {{participant}}",
    "ticket.participant.removed": "{{actor}} removed {{participant}}",
    "ticket.rated": "{{actor}} rated the ticket",
    "ticket.rating.asked": "{{customer}} was asked to rate it",
    "ticket.split": "{{actor}} split the ticket off ticket {{source}}",
    "ticket.split.from": "{{actor}} split the ticket; the new one is {{target}}",
    "ticket.status.closed": "{{actor}} closed the ticket",
    "ticket.status.deleted": "{{actor}} deleted the ticket",
    "ticket.status.named": "{{actor}} set the ticket to {{status_name}}",
    "ticket.status.open": "{{actor}} opened the ticket",
    "ticket.status.waiting": "{{actor}} set the ticket to waiting",
    "ticket.target.due": "{{goal}} due in {{minutes}} minutes",
    "ticket.target.missed": "{{goal}} overdue",
    "ticket.tag.added": "{{actor}} tagged {{tags}}",
    "ticket.tag.removed": "{{actor}} removed the tag {{tags}}",
    "watcher.assigned": "{{actor}} made {{watcher}} a watcher",
    "watcher.follow": "{{actor}} started watching the ticket",
    "watcher.unassigned": "{{actor}} removed {{watcher}} from the watchers",
    "watcher.unfollow": "{{actor}} stopped watching the ticket",
    "writing_assistant.called": "{{actor}} used the writing assistant: {{act}}, {{count}} characters to {{host}}",
}
# {sentence of earlier versions, with `{{status}}` filled in: current sentence}
FORMER = {
    "{{actor}} took ticket {{target}} from its owner": "{{actor}} unassigned ticket {{target}}",
    "Late: the {{goal}} of ticket {{target}}": "{{goal}} overdue: ticket {{target}}",
    "Due in {{minutes}} minutes: the {{goal}} of ticket {{target}}": (
        "{{goal}} due in {{minutes}} minutes: ticket {{target}}"
    ),
    "{{actor}} set ticket {{target}} to closed": "{{actor}} closed ticket {{target}}",
    "{{actor}} set ticket {{target}} to deleted": "{{actor}} deleted ticket {{target}}",
    "{{actor}} set ticket {{target}} to open": "{{actor}} opened ticket {{target}}",
    "{{actor}} put the event {{event}} on {{target}}": "{{actor}} added the event {{event}} to {{target}}",
    "{{actor}} put the recurring event {{event}} on {{target}}": (
        "{{actor}} added the recurring event {{event}} to {{target}}"
    ),
    "{{actor}} took {{target_object}} {{target}} and {{link_object}} {{link}} apart": (
        "{{actor}} removed the link between {{target_object}} {{target}} and {{link_object}} {{link}}"
    ),
    "Mail to group {{target}} was not acknowledged: {{error}}": (
        "An email to the group {{target}} was not acknowledged: {{error}}"
    ),
    "The answer of {{worker}} by mail was not sent ({{reason}}) on ticket {{target}}": (
        "The email reply of {{worker}} on ticket {{target}} was not sent: {{reason}}"
    ),
    "{{actor}} wrote on ticket {{target}} first: the message that was to leave later is a draft again": (
        "{{actor}} wrote on ticket {{target}} first, so the scheduled message is a draft again"
    ),
    "A message of ticket {{target}} was passed on to {{worker}} at {{worker_email}}": (
        "A message of ticket {{target}} was forwarded to {{worker}} at {{worker_email}}"
    ),
    "{{actor}} took ticket {{target}} apart from ticket {{source}}": (
        "{{actor}} unmerged ticket {{target}} from ticket {{source}}"
    ),
    "Mail could not be sent through {{actor}}: {{error}}": "Email could not be sent through {{actor}}: {{error}}",
    "{{actor}} began to watch {{target_object}} {{target}}": "{{actor}} started watching {{target_object}} {{target}}",
    "{{actor}} logged in from {{ip}} with {{user_agent}}": "{{actor}} signed in from {{ip}} with {{user_agent}}",
    "{{actor}} logged out from {{ip}}": "{{actor}} signed out from {{ip}}",
    "A login as {{target}} from {{ip}} with {{user_agent}} failed": (
        "A sign-in as {{target}} from {{ip}} with {{user_agent}} failed"
    ),
    "Too many logins as {{target}} failed, the last from {{ip}} with {{user_agent}}; new devices have to wait": (
        "Too many sign-ins as {{target}} failed, the last from {{ip}} with {{user_agent}}; new devices have to wait"
    ),
    "The seat of {{target}} was released after a time without activity": (
        "The seat of {{target}} was released after inactivity"
    ),
    "{{actor}} handed in mail of {{sender}} for ticket {{target}} through the API": (
        "{{actor}} submitted an email from {{sender}} for ticket {{target}} through the API"
    ),
    "{{actor}} wants {{target}} to sign in with {{address}} in place of {{before}}": (
        "{{actor}} requested that {{target}} sign in with {{address}} instead of {{before}}"
    ),
    "{{actor}} took back that {{target}} is to sign in with {{address}}": (
        "{{actor}} withdrew the request that {{target}} sign in with {{address}}"
    ),
    "{{actor}} made {{target}} an administrator no more": "{{actor}} revoked the administrator rights of {{target}}",
    "{{actor}} disabled the worker {{target}}": "{{actor}} deactivated the worker {{target}}",
    "{{actor}} enabled the worker {{target}} again": "{{actor}} reactivated the worker {{target}}",
    "{{actor}} invited {{target}} by mail to choose a password": (
        "{{actor}} invited {{target}} by email to choose a password"
    ),
    "{{actor}} made a link with which {{target}} can choose a password": (
        "{{actor}} created a link with which {{target}} can choose a password"
    ),
    "{{actor}} made new recovery codes for the second factor of {{target}}": (
        "{{actor}} created new recovery codes for the second factor of {{target}}"
    ),
    "{{actor}} changed who is in the group {{target}}: {{changes}}": (
        "{{actor}} changed the members of the group {{target}}: {{changes}}"
    ),
    "{{actor}} ended {{tokens}} of {{target}}": "{{actor}} revoked {{tokens}} of {{target}}",
    "{{actor}} let the outgoing webhook {{target}} send again: {{what}}": (
        "{{actor}} resent deliveries of the outgoing webhook {{target}}: {{what}}"
    ),
    "{{actor}} removed the deleted custom field {{field}} for good": (
        "{{actor}} permanently removed the deleted custom field {{field}}"
    ),
    "{{actor}} made the key {{selector}} that can sign mail of {{domain}}": (
        "{{actor}} created the key {{selector}} to sign email from {{domain}}"
    ),
    "{{actor}} has mail of {{domain}} signed with the key {{selector}}": (
        "{{actor}} started signing email from {{domain}} with the key {{selector}}"
    ),
    "{{actor}} has mail of {{domain}} signed with {{selector}} no more": (
        "{{actor}} stopped signing email from {{domain}} with {{selector}}"
    ),
    "{{actor}} changed how mail from {{target}} leaves: {{transport}}": (
        "{{actor}} changed the mail transport of {{target}}: {{transport}}"
    ),
    "{{actor}} let the job {{kind}} run at once": "{{actor}} started the job {{kind}}",
    "{{actor}} let the scheduler look at once for all that is due": "{{actor}} ran all maintenance tasks",
    "{{actor}} discarded the mail {{file}}, which could not be taken": (
        "{{actor}} discarded the email {{file}}, which could not be processed"
    ),
    "{{actor}} dropped the mail {{subject}} from the outbox": (
        "{{actor}} dropped the email {{subject}} from the outbox"
    ),
    "{{actor}} let the mail {{subject}} be sent again": "{{actor}} sent the email {{subject}} again",
    "{{actor}} let the mail {{file}} be taken once more": "{{actor}} processed the email {{file}} again",
    "{{actor}} sent a test mail through {{target}} to {{recipient}}": (
        "{{actor}} sent a test email through {{target}} to {{recipient}}"
    ),
    "{{actor}} let the mailbox {{target}} be checked": "{{actor}} checked the mailbox {{target}}",
    "{{actor}} let a backup be made": "{{actor}} started a backup",
    "{{actor}} restored the database from {{file}}; the one before is kept as {{kept}}": (
        "{{actor}} restored the database from {{file}}; the previous one is kept as {{kept}}"
    ),
    "{{actor}} let the backup {{file}} be verified": "{{actor}} started verifying the backup {{file}}",
    "{{actor}} filled the service with demo data": "{{actor}} added demo data",
    "{{actor}} imported the package {{package}}, which made {{made}}": (
        "{{actor}} imported the package {{package}}, which created {{made}}"
    ),
    "{{actor}} updated the package {{package}}, which made {{made}} and changed {{changed}}": (
        "{{actor}} updated the package {{package}}, which created {{made}} and changed {{changed}}"
    ),
    "{{actor}} made a set-up link, with which the first administrator is created": (
        "{{actor}} created a setup link for the first administrator"
    ),
    "{{actor}} changed the automations that answer to the event {{target}}: {{changes}}": (
        "{{actor}} changed the automations of the event {{target}}: {{changes}}"
    ),
}
# Entries of the service about sign-ins, email and deletions. Others cannot write them, since people rely on them.
RESERVED = frozenset((
    "automation.rule.off", "connected_account.ended", "connected_service.secret.expires",
    "group.acknowledgement.error", "kb_article.published", "kb_article.unpublished", "mailbox.check.error",
    "outgoing_webhook.switched_off", "record.deleted",
    "ticket.answer.refused",
    "ticket.message.held", "ticket.message.inbound", "ticket.message.outbound", "ticket.message.relay",
    "ticket.rated", "ticket.rating.asked",
    "ticket.target.due", "ticket.target.missed", "transport.delivery.error", "worker.impersonated",
    "worker.logged_in", "worker.logged_out", "worker.login.failed", "worker.login.locked", "worker.seat_expired",
    "writing_assistant.called",
))  # fmt: skip


def _points(*rows: tuple[str, str, str], is_administrative: bool = False) -> dict[str, ActivityPoint]:
    points = {}
    for id, name, pattern in rows:
        names = dict.fromkeys(PLACEHOLDER.findall(pattern))
        points[id] = ActivityPoint(
            id,
            name,
            pattern,
            tuple(each for each in names if each != "actor"),
            is_administrative,
            is_administrative or id in RESERVED,
            ON_TICKET.get(id, ""),
        )
    return points


WORK = _points(
    ("automation.rule.off", "Rule switched off", "The rule {{target}} was switched off: {{error}}"),
    ("address.email.changed", "Email address changed", "{{actor}} changed the address {{before}} to {{target}}"),
    ("calendar_event.created", "Calendar event created", "{{actor}} added the event {{event}} to {{target}}"),
    (
        "calendar_event_recurring.created", "Recurring calendar event created",
        "{{actor}} added the recurring event {{event}} to {{target}}",
    ),
    ("call_entry.created", "Call logged", "{{actor}} logged the call {{target}}"),
    ("comment.create", "Comment written", "{{actor}} commented on {{object}} {{target}}"),
    (
        "connection.link", "Record linked",
        "{{actor}} linked {{target_object}} {{target}} with {{link_object}} {{link}}",
    ),
    (
        "connection.unlink", "Record unlinked",
        "{{actor}} removed the link between {{target_object}} {{target}} and {{link_object}} {{link}}",
    ),
    (
        "connected_account.ended", "Connection ended",
        "The access of the connected account {{target}} to {{service}} has ended: {{error}}",
    ),
    (
        "connected_service.secret.expires", "Client secret expires",
        "The client secret of {{target}} expires on {{date}}; enter a new one before then",
    ),
    ("custom.other", "Other", "{{message}}"),
    (
        "group.acknowledgement.error", "Acknowledgement failed",
        "An email to the group {{target}} was not acknowledged: {{error}}",
    ),
    ("kb_article.published", "Help article published", "{{actor}} published the help article {{target}}"),
    (
        "kb_article.unpublished", "Help article unpublished",
        "{{actor}} removed the help article {{target}} from the help center",
    ),
    (
        "mailbox.check.error", "Mailbox could not be read",
        "Mailbox {{target}} could not be read, {{count}} times in a row: {{error}}",
    ),
    (
        "outgoing_webhook.switched_off", "Outgoing webhook switched off",
        "The outgoing webhook {{target}} was switched off: {{error}}",
    ),
    ("opp.status.closed_lost", "Opportunity lost", "{{actor}} marked opportunity {{target}} as lost"),
    ("opp.status.closed_won", "Opportunity won", "{{actor}} marked opportunity {{target}} as won"),
    ("opp.status.open", "Opportunity opened", "{{actor}} opened opportunity {{target}}"),
    (
        "project_board.card.added", "Card added",
        "{{actor}} added {{card}} to {{column}} on the board {{target}}",
    ),
    (
        "project_board.card.moved", "Card moved",
        "{{actor}} moved {{card}} from {{before}} to {{column}} on the board {{target}}",
    ),
    (
        "project_board.card.removed", "Card removed",
        "{{actor}} removed {{card}} from {{column}} on the board {{target}}",
    ),
    (
        "record.deleted", "Record deleted",
        "{{actor}} deleted {{record_type}} {{record_label}} (number {{record_id}})",
    ),
    ("record.merge", "Records merged", "{{actor}} merged {{context_label}} {{source}} into {{target}}"),
    ("record.tag.added", "Tag added", "{{actor}} tagged {{target_object}} {{target}} {{tags}}"),
    ("record.tag.removed", "Tag removed", "{{actor}} removed the tag {{tags}} from {{target_object}} {{target}}"),
    ("task.created", "Task created", "{{actor}} created task {{target}}"),
    ("task.status.completed", "Task completed", "{{actor}} completed task {{target}}"),
    ("task.status.open", "Task reopened", "{{actor}} reopened task {{target}}"),
    ("ticket.macro", "Macro run", "{{actor}} ran the macro {{macro}} on ticket {{target}}"),
    (
        "ticket.answer.refused", "Email reply not understood",
        "The email reply of {{worker}} on ticket {{target}} was not sent: {{reason}}",
    ),
    ("ticket.merge", "Tickets merged", "{{actor}} merged ticket {{source}} into {{target}}"),
    (
        "ticket.message.changed", "Message changed",
        "{{actor}} changed {{what}} of message {{message}} on ticket {{target}}",
    ),
    (
        "ticket.message.held", "Scheduled message held back",
        "{{actor}} wrote on ticket {{target}} first, so the scheduled message is a draft again",
    ),
    ("ticket.message.inbound", "Message received", "{{actor}} wrote on ticket {{target}}"),
    (
        "ticket.message.moved", "Message moved",
        "{{actor}} moved message {{message}} from ticket {{source}} to ticket {{destination}}",
    ),
    ("ticket.message.outbound", "Message sent", "{{actor}} replied on ticket {{target}}"),
    (
        "ticket.message.relay", "Message forwarded to a worker",
        "A message of ticket {{target}} was forwarded to {{worker}} at {{worker_email}}",
    ),
    ("ticket.moved", "Ticket moved", "{{actor}} moved ticket {{target}} to {{group}}, {{bucket}}"),
    ("ticket.owner.assigned", "Ticket assigned", "{{actor}} assigned ticket {{target}} to {{worker}}"),
    ("ticket.owner.unassigned", "Ticket unassigned", "{{actor}} unassigned ticket {{target}}"),
    ("ticket.participant.added", "Participant added", "{{actor}} added {{participant}} to ticket {{target}}"),
    (
        "ticket.participant.removed", "Participant removed",
        "{{actor}} removed {{participant}} from ticket {{target}}",
    ),
    ("ticket.tag.added", "Tag added", "{{actor}} tagged ticket {{target}} {{tags}}"),
    ("ticket.tag.removed", "Tag removed", "{{actor}} removed the tag {{tags}} from ticket {{target}}"),
    ("ticket.unmerge", "Merge undone", "{{actor}} unmerged ticket {{target}} from ticket {{source}}"),
    ("ticket.rated", "Ticket rated", "{{actor}} rated ticket {{target}}"),
    ("ticket.rating.asked", "Rating requested", "{{customer}} was asked to rate ticket {{target}}"),
    ("ticket.split", "Ticket split", "{{actor}} split ticket {{target}} off ticket {{source}}"),
    ("ticket.split.from", "Ticket split from", "{{actor}} split ticket {{source}}; the new one is {{target}}"),
    ("ticket.status.closed", "Ticket closed", "{{actor}} closed ticket {{target}}"),
    ("ticket.status.deleted", "Ticket deleted", "{{actor}} deleted ticket {{target}}"),
    ("ticket.status.named", "Status named", "{{actor}} set ticket {{target}} to {{status_name}}"),
    ("ticket.status.open", "Ticket opened", "{{actor}} opened ticket {{target}}"),
    ("ticket.status.waiting", "Ticket waiting", "{{actor}} set ticket {{target}} to waiting"),
    (
        "ticket.target.due", "Service target due",
        "{{goal}} due in {{minutes}} minutes: ticket {{target}}",
    ),
    ("ticket.target.missed", "Service target missed", "{{goal}} overdue: ticket {{target}}"),
    ("timetracking.status.closed", "Time entry closed", "{{actor}} closed time entry {{target}}"),
    ("timetracking.status.open", "Time entry opened", "{{actor}} opened time entry {{target}}"),
    ("transport.delivery.error", "Email could not be sent", "Email could not be sent through {{actor}}: {{error}}"),
    (
        "watcher.assigned", "Watcher added",
        "{{actor}} made {{watcher}} a watcher of {{target_object}} {{target}}",
    ),
    ("watcher.follow", "Watching", "{{actor}} started watching {{target_object}} {{target}}"),
    (
        "watcher.unassigned", "Watcher removed",
        "{{actor}} removed {{watcher}} from the watchers of {{target_object}} {{target}}",
    ),
    ("watcher.unfollow", "No longer watching", "{{actor}} stopped watching {{target_object}} {{target}}"),
    ("worker.impersonated", "Acted as another worker", "{{actor}} acted as {{target}} from {{ip}}"),
    ("worker.logged_in", "Signed in", "{{actor}} signed in from {{ip}} with {{user_agent}}"),
    ("worker.logged_out", "Signed out", "{{actor}} signed out from {{ip}}"),
    (
        "worker.login.failed", "Sign-in failed",
        "A sign-in as {{target}} from {{ip}} with {{user_agent}} failed",
    ),
    (
        "worker.login.locked", "Account locked",
        "Too many sign-ins as {{target}} failed, the last from {{ip}} with {{user_agent}}; new devices have to wait",
    ),
    ("worker.seat_expired", "Seat released", "The seat of {{target}} was released after inactivity"),
    (
        "writing_assistant.called", "Writing assistant used",
        "{{actor}} sent {{count}} characters of ticket {{target}} to {{model}} at {{host}}: {{act}} ({{sources}})",
    ),
)  # fmt: skip
ADMINISTRATIVE = _points(*act_sentences.ROWS, *act_sentences.of_records(), is_administrative=True)
POINTS = dict(sorted((WORK | ADMINISTRATIVE).items()))


def point(id: str) -> ActivityPoint:
    """The activity point with this id, case-insensitive. Raises NotFound with the nearest one."""
    activity_point = POINTS.get(id.strip().lower())
    if activity_point is None:
        raise NotFound(f"there is no activity point '{id[:80]}'{nearest(id, POINTS)}", point=id)
    return activity_point


def body(id: str, variables: Mapping[str, str], urls: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The `params` of an entry: {message, variables, urls}.

    Raises NotFound for an unknown point, Required for a placeholder without a value (except `actor`)."""
    activity_point = point(id)
    lacking = activity_point.missing(variables)
    if lacking:
        raise Required(f"variables: '{lacking[0]}' needs a value for {activity_point.id}", field=lacking[0])
    return {"message": activity_point.pattern, "variables": dict(variables), "urls": dict(urls or {})}
