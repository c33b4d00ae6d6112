"""The tables of rules: their runs, and the tickets that a rule by time has handled."""

from server.store.tables import Column, Index, Table

RULE_RUN = Table(
    "rule_run",
    [
        Column("automation_id", references="automation(id)"),
        Column("ticket_id", references="ticket(id)"),
        Column("at"),
        Column("events", "TEXT"),
        Column("state", "TEXT"),
        Column("message", "TEXT"),
    ],
    [
        Index(("automation_id", "id"), "the runs of a rule, newest first"),
        Index(("ticket_id",), "the runs of rules on a ticket"),
    ],
)  # state: done, problem, skipped, failed, limit. events: separated by commas
RULE_CURSOR = Table("rule_cursor", [Column("event_id")])  # one row: the last event that was handled
RULE_DONE = Table(
    "rule_done",
    [
        Column("automation_id", references="automation(id)"),
        Column("ticket_id", references="ticket(id)"),
        Column("at"),
    ],
    key=("automation_id", "ticket_id"),
)  # at: the time of the ticket that had passed; a rule by time handles a ticket once for each
