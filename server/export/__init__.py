"""Exports everything to files that other programs and people can read: JSON lines, attachments and original mails.

    exporting.py       the whole export, from one snapshot
    json_lines.py      records as lines
    exported_files.py  attachments, mails, images
    target.py          a folder or a zip file
    secret.py          secrets, which are omitted by default

An export is not a backup: no command reads it back."""

from server.export.exporting import Summary, export

__all__ = ["Summary", "export"]
