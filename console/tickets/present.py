"""The other workers on a ticket, in words."""

from console.http.visit import Visit
from server.people import presence
from server.people.presence import Present
from server.translation import N_, _

MAX_SENTENCES = 3  # on a row of a list
SENTENCES = {
    "writing": N_("{name} is writing a reply"),
    "noting": N_("{name} is writing a note"),
    "viewing": N_("{name} is viewing"),
}


def sentence(worker: Present) -> str:
    """Returns what a worker does on a ticket."""
    return _(SENTENCES[worker.doing], name=worker.name)


def on_row(visit: Visit, ticket_id: int) -> str:
    """Returns a text about the other people on a ticket, those who are writing first; "" if there are none."""
    there = sorted(presence.others(visit.ctx, ticket_id), key=lambda each: each.doing == "viewing")
    return ", ".join(sentence(each) for each in there[:MAX_SENTENCES])


def writers(visit: Visit, ticket_id: int) -> list[Present]:
    """Returns the other workers who are writing on a ticket."""
    return [each for each in presence.others(visit.ctx, ticket_id) if each.doing != "viewing"]
