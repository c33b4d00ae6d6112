"""Prevents mail loops: mail that an automation writes because a program sent mail is stored but not sent.

Two programs that reply to each other would never stop. Follows RFC 3834."""

from server.context import Context
from server.mail import automatic
from server.mail.headers import Head
from server.record_types.record_type import Record

NOTE = "not sent: an automation wrote it in response to automatic email"


def is_unsent(ctx: Context) -> bool:
    """Whether mail written in this operation stays unsent."""
    return ctx.is_by_machine and ctx.depth > 0


def answers_machine(ctx: Context, answered: Record, fields: Head, sender: str) -> bool:
    """Whether an automation replies to mail that a program wrote, even if a timer started it.

    fields: the headers of the message replied to. sender: its address."""
    return ctx.depth > 0 and not answered["is_outgoing"] and automatic.is_machine_written(fields, (sender,))
