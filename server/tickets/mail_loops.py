"""Mail that an automation writes because of mail that a program wrote: it is kept, and not sent.

Two programs that answer each other would not stop by themselves. Follows RFC 3834."""

from server.context import Context
from server.mail import automatic
from server.mail.headers import Head
from server.record_types.base import Record

NOTE = "not sent: an automation wrote it because of mail that a program wrote"


def is_unsent(ctx: Context) -> bool:
    """Whether mail that is written in this operation does not leave."""
    return ctx.is_by_machine and ctx.depth > 0


def answers_machine(ctx: Context, answered: Record, fields: Head, sender: str) -> bool:
    """Whether an automation answers mail that a program wrote, whatever set it off, such as a timer.

    fields: the headers of the message answered. sender: its address."""
    return ctx.depth > 0 and not answered["is_outgoing"] and automatic.is_machine_written(fields, (sender,))
