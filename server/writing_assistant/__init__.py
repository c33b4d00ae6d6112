"""The writing assistant: a language model of the administrator's choice that summarizes tickets and drafts, rewrites
and translates replies. Off by default.

    model_provider.py    the stored provider: its base address, model and key
    model_client.py      the protocol of OpenAI-compatible servers; knows no database
    model_text.py        text of a model as untrusted input
    writing_acts.py      the acts, with what each sends
    ticket_material.py   the words of a ticket that may leave, and articles and earlier replies as sources
    model_calls.py       starts, cancels, limits and logs calls

The model has no tools: its only output is text, which a person reads before anything happens."""
