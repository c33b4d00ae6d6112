"""Outgoing webhooks: notify other programs of changes, signed and retried as Standard Webhooks describes.

types/outgoing_webhook.py  the receivers
event_names.py             the events that a webhook subscribes to
webhook_signing.py         secrets and signatures
deliveries.py              past and waiting deliveries, as rows
message.py                 the body of a delivery
chat_events.py             the events of messages to chat programs
chat_notice.py             the content of such a message
chat_text.py               its texts, escaped
chat_programs.py           its form, its request and the responses of each program
retry_schedule.py          the times of retries
courier.py                 finds changes and sends them"""
