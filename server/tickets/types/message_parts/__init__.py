"""The parts of the record type message, one file per concern; the declaration is in ../message.py."""
