"""What the record type ticket is made of, a file for each of its concerns; the declaration is ../ticket.py."""
