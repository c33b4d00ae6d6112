"""Outgoing webhooks: other programs are told what changed, signed by Standard Webhooks, until they have heard it.

types/outgoing_webhook.py  who is told what
event_names.py             which changes a webhook is for
signing.py                 secrets and signatures
deliveries.py              what was told, and what waits, as rows
message.py                 what one delivery says
schedule.py                when a failed one is sent again
courier.py                 finds what changed, and sends it"""
