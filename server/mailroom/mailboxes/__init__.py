"""Mailboxes on other servers, checked at intervals: their mails go through the mailroom like all others.

    due_mailboxes.py  finds mailboxes that are due
    checking.py       one check of one mailbox
    fetch_state.py    which mails were fetched, in the transaction that stores them
    problems.py       failures, on the record and as notifications to administrators
    dead_letters.py   mails that could not be stored, as files
    failed_mails.py   these mails as administrators see them

A mail is removed from its server only after it is stored here, on disk."""
