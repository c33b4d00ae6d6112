"""All that there is, in files that other programs and people can read: JSON lines, attachments and mails as they are.

    exporting.py  the whole of it, from one snapshot     lines.py     records as lines
    contents.py   attachments, mails, images             target.py    a folder or a zip file
    secret.py     what is left out unless it is asked for

Not a backup: nothing reads it back."""

from server.export.exporting import Summary, export

__all__ = ["Summary", "export"]
