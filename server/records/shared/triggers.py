"""The ids of triggers: what an automation may be started by. Data only; nothing is run here."""

PREFIX = "svc.trigger."
TRIGGERS = tuple(PREFIX + name for name in (
    "automation.function", "automation.timer", "behavior.action", "data.query", "interaction.internal",
    "interaction.website", "interaction.worker", "interaction.worker.explore", "mail.draft", "mail.draft.validate",
    "mail.filter", "mail.moved", "mail.received", "mail.reply.validate", "mail.route", "mail.send", "mail.sent",
    "map.clicked", "projectBoard.cardAction", "projectBoard.renderCard", "record.changed", "record.merge",
    "record.merged", "record.viewed", "reminder.remind", "resource.get", "scripting.function", "ui.chart.data",
    "ui.sheet.data", "ui.widget", "webhook.respond", "worker.authenticate.failed", "worker.authenticated",
))  # fmt: skip
