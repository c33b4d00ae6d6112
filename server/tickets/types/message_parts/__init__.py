"""What the record type message is made of, a file for each of its concerns; the declaration is ../message.py."""
