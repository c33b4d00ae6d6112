"""The parts of the record type ticket, one file per concern; the declaration is in ../ticket.py."""
