"""Administrative acts: entries of the activity log for administrators about the configuration of the service. Data
only.

Besides these rows, each administrative operation on records has an activity point: `<uri>.created`, `<uri>.changed`,
`<uri>.deleted`. Declarations of types say which operations are administrative."""

# {uri: (word for the record, logged operations)}
ALL = ("create", "update", "delete")
RECORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "activity_log": ("activity entry", ALL),
    "address": ("address", ("delete",)),
    "attachment": ("attachment", ("update", "delete")),
    "automation": ("automation", ALL),
    "automation_event": ("automations that answer to the event", ("update",)),
    "automation_resource": ("automation resource", ALL),
    "automation_timer": ("timer", ALL),
    "behavior": ("behavior", ALL),
    "bot": ("bot", ALL),
    "bucket": ("bucket", ALL),
    "connected_account": ("connected account", ALL),
    "connected_service": ("connected service", ALL),
    "currency": ("currency", ALL),
    "custom_field": ("custom field", ALL),
    "custom_fieldset": ("fieldset", ALL),
    "custom_record": ("custom record type", ALL),
    "group": ("group", ALL),
    "html_template": ("mail template", ALL),
    "mail_transport": ("mail transport", ALL),
    "mailbox": ("mailbox", ALL),
    "metric": ("metric", ALL),
    "oauth_app": ("OAuth app", ALL),
    "outgoing_webhook": ("outgoing webhook", ALL),
    "package": ("package", ("update", "delete")),
    "queue": ("queue", ALL),
    "resource": ("resource", ALL),
    "role": ("role", ALL),
    "service_target": ("service target", ALL),
    "toolbar": ("toolbar", ("update",)),
    "webhook_listener": ("webhook", ALL),
    "worker": ("worker", ALL),
}
WORDS = {"create": "created", "update": "changed", "delete": "deleted"}
_SENTENCES = {
    "create": "{{{{actor}}}} created the {noun} {{{{target}}}}",
    "update": "{{{{actor}}}} changed the {noun} {{{{target}}}}: {{{{changes}}}}",
    "delete": "{{{{actor}}}} deleted the {noun} {{{{record_label}}}} (number {{{{record_id}}}})",
}
# Fields with their own activity points, since they matter more: {(uri, field): (point if off, point if on or set)}
SWITCHES = {
    ("worker", "is_disabled"): ("worker.enabled", "worker.disabled"),
    ("worker", "is_superuser"): ("worker.admin.taken", "worker.admin.given"),
    ("worker", "password"): ("worker.password.set", "worker.password.set"),
}
ROWS = (
    (
        "ticket.message.handed_in", "Mail handed in",
        "{{actor}} handed in mail of {{sender}} for ticket {{target}} through the API",
    ),
    (
        "worker.login_address.asked", "Change of a sign-in address asked for",
        "{{actor}} wants {{target}} to sign in with {{address}} in place of {{before}}",
    ),
    (
        "worker.login_address.changed", "Sign-in address changed",
        "{{actor}} changed the sign-in address of {{target}} from {{before}} to {{address}}",
    ),
    (
        "worker.login_address.dropped", "Change of a sign-in address taken back",
        "{{actor}} took back that {{target}} is to sign in with {{address}}",
    ),
    ("worker.admin.given", "Made an administrator", "{{actor}} made {{target}} an administrator"),
    ("worker.admin.taken", "No longer an administrator", "{{actor}} made {{target}} an administrator no more"),
    ("worker.device.forgotten", "Known device forgotten", "{{actor}} forgot a known device of {{target}}"),
    ("worker.disabled", "Worker disabled", "{{actor}} disabled the worker {{target}}"),
    ("worker.enabled", "Worker enabled", "{{actor}} enabled the worker {{target}} again"),
    ("worker.invited", "Worker invited", "{{actor}} invited {{target}} by mail to choose a password"),
    (
        "worker.password.link", "Password link made",
        "{{actor}} made a link with which {{target}} can choose a password",
    ),
    ("worker.password.set", "Password set", "{{actor}} set the password of {{target}}"),
    (
        "worker.second_factor.codes", "Recovery codes made",
        "{{actor}} made new recovery codes for the second factor of {{target}}",
    ),
    ("worker.second_factor.off", "Second factor off", "{{actor}} turned off the second factor of {{target}}"),
    ("worker.second_factor.on", "Second factor on", "{{actor}} turned on the second factor of {{target}}"),
    ("worker.sessions.ended", "Devices signed out", "{{actor}} signed {{target}} out of {{devices}}"),
    ("group.roster.changed", "Roster changed", "{{actor}} changed who is in the group {{target}}: {{changes}}"),
    ("token.created", "Token created", "{{actor}} created a token of the app {{app}} for {{target}}: {{scopes}}"),
    ("token.ended", "Token ended", "{{actor}} ended {{tokens}} of {{target}}"),
    ("consent.given", "App allowed", "{{actor}} allowed the app {{app}} to act for {{target}}: {{scopes}}"),
    ("consent.taken_back", "App no longer allowed", "{{actor}} no longer allows the app {{app}} to act for {{target}}"),
    (
        "webhook_listener.address.ended", "Webhook address ended",
        "{{actor}} ended an old address of the webhook {{target}}",
    ),
    (
        "webhook_listener.address.renewed", "Webhook address renewed",
        "{{actor}} gave the webhook {{target}} a new address",
    ),
    ("webhook_listener.called", "Webhook called by hand", "{{actor}} called the webhook {{target}} by hand"),
    ("outgoing_webhook.tried", "Outgoing webhook tried", "{{actor}} sent a test to the outgoing webhook {{target}}"),
    (
        "outgoing_webhook.sent_again", "Outgoing webhook sent again",
        "{{actor}} let the outgoing webhook {{target}} send again: {{what}}",
    ),
    ("automation.run", "Automation run by hand", "{{actor}} ran the automation {{target}} by hand"),
    (
        "custom_field.option.renamed", "Option renamed",
        "{{actor}} renamed an option of the custom field {{target}} from {{old}} to {{new}}",
    ),
    ("custom_field.removed", "Deleted field removed", "{{actor}} removed the deleted custom field {{field}} for good"),
    ("custom_field.restored", "Deleted field restored", "{{actor}} restored the deleted custom field {{target}}"),
    ("dkim.key.created", "Signing key made", "{{actor}} made the key {{selector}} that can sign mail of {{domain}}"),
    ("dkim.key.used", "Signing key used", "{{actor}} has mail of {{domain}} signed with the key {{selector}}"),
    ("dkim.key.stopped", "Signing key stopped", "{{actor}} has mail of {{domain}} signed with {{selector}} no more"),
    ("dkim.key.deleted", "Signing key deleted", "{{actor}} deleted the key {{selector}} of {{domain}}"),
    ("sender.changed", "Sender address changed", "{{actor}} changed how mail from {{target}} leaves: {{transport}}"),
    ("setting.changed", "Setting changed", "{{actor}} changed the setting {{setting}} from {{old}} to {{new}}"),
    ("job.dropped", "Job dropped", "{{actor}} dropped job {{job}} ({{kind}}){{given}}"),
    ("job.run", "Job run by hand", "{{actor}} let the job {{kind}} run at once"),
    ("scan.run", "Scheduler run by hand", "{{actor}} let the scheduler look at once for all that is due"),
    ("scan.switched", "Scan switched", "{{actor}} switched '{{scan}}' {{state}} in the scheduler"),
    ("mail.discarded", "Mail discarded", "{{actor}} discarded the mail {{file}}, which could not be taken"),
    ("mail.dropped", "Mail dropped from the outbox", "{{actor}} dropped the mail {{subject}} from the outbox"),
    ("mail.retried", "Mail sent again by hand", "{{actor}} let the mail {{subject}} be sent again"),
    ("mail.taken", "Mail taken by hand", "{{actor}} let the mail {{file}} be taken once more"),
    ("mail.tested", "Mail transport tried", "{{actor}} sent a test mail through {{target}} to {{recipient}}"),
    ("mailbox.checked", "Mailbox checked by hand", "{{actor}} let the mailbox {{target}} be checked"),
    ("mail.imported", "Mail imported", "{{actor}} imported {{mails}} from files"),
    ("backup.downloaded", "Backup downloaded", "{{actor}} downloaded the backup {{file}}"),
    ("backup.made", "Backup made by hand", "{{actor}} let a backup be made"),
    ("backup.removed", "Backup removed", "{{actor}} removed the backup {{file}}"),
    (
        "backup.restored", "Backup restored",
        "{{actor}} restored the database from {{file}}; the one before is kept as {{kept}}",
    ),
    ("backup.sent", "Backup uploaded", "{{actor}} uploaded the backup {{file}}"),
    ("backup.verified", "Backup verified by hand", "{{actor}} let the backup {{file}} be verified"),
    ("data.exported", "Data exported", "{{actor}} exported {{what}}"),
    ("data.imported", "Data imported", "{{actor}} imported {{file}}: {{what}}"),
    ("demo.added", "Demo data added", "{{actor}} filled the service with demo data"),
    ("demo.removed", "Demo data removed", "{{actor}} removed the demo data"),
    ("package.imported", "Package imported", "{{actor}} imported the package {{package}}, which made {{made}}"),
    (
        "package.updated", "Package updated",
        "{{actor}} updated the package {{package}}, which made {{made}} and changed {{changed}}",
    ),
    ("setup.link", "Set-up link made", "{{actor}} made a set-up link, with which the first administrator is created"),
)  # fmt: skip


def of_records() -> list[tuple[str, str, str]]:
    """Rows for operations on records: id, name, sentence."""
    return [
        (
            f"{uri}.{WORDS[operation]}",
            f"{noun.capitalize() if noun[0].islower() else noun} {WORDS[operation]}",
            _SENTENCES[operation].format(noun=noun),
        )
        for uri, (noun, operations) in RECORDS.items()
        for operation in operations
    ]
