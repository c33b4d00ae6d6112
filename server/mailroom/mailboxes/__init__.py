"""Mailboxes on other servers, looked at again and again: their mails go through the mailroom like all others.

    due.py           which mailbox is looked at when
    checking.py      one look at one mailbox
    fetch_state.py   which mails were taken, in the transaction that takes them
    problems.py      what went wrong, on the record and to administrators
    dead_letters.py  mails that nobody can take
    letters.py       those mails as administrators see them

A mail is removed from its server only when it is stored here, on disk."""
