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
    "automation_event": ("automations of the event", ("update",)),
    "automation_resource": ("automation resource", ALL),
    "automation_timer": ("timer", ALL),
    "behavior": ("behavior", ALL),
    "bot": ("bot", ALL),
    "brand": ("brand", ALL),
    "bucket": ("bucket", ALL),
    "contact_form": ("contact form", ALL),
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
    "rating": ("rating", ("delete",)),
    "resource": ("resource", ALL),
    "role": ("role", ALL),
    "service_target": ("service target", ALL),
    "tag": ("tag", ALL),
    "ticket_status": ("ticket status", ALL),
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
        "ticket.message.handed_in", "Email submitted",
        "{{actor}} submitted an email from {{sender}} for ticket {{target}} through the API",
    ),
    (
        "group.tickets.queued", "Assignment of tickets started",
        "{{actor}} started to assign tickets of the group {{target}} that had no owner: {{count}}",
    ),
    (
        "worker.login_address.asked", "Change of sign-in address requested",
        "{{actor}} requested that {{target}} sign in with {{address}} instead of {{before}}",
    ),
    (
        "worker.login_address.changed", "Sign-in address changed",
        "{{actor}} changed the sign-in address of {{target}} from {{before}} to {{address}}",
    ),
    (
        "worker.login_address.dropped", "Change of sign-in address withdrawn",
        "{{actor}} withdrew the request that {{target}} sign in with {{address}}",
    ),
    ("worker.admin.given", "Made an administrator", "{{actor}} made {{target}} an administrator"),
    ("worker.admin.taken", "No longer an administrator", "{{actor}} revoked the administrator rights of {{target}}"),
    ("worker.device.forgotten", "Known device forgotten", "{{actor}} forgot a known device of {{target}}"),
    ("worker.disabled", "Worker deactivated", "{{actor}} deactivated the worker {{target}}"),
    ("worker.enabled", "Worker reactivated", "{{actor}} reactivated the worker {{target}}"),
    ("worker.invited", "Worker invited", "{{actor}} invited {{target}} by email to choose a password"),
    ("worker.invited.again", "Invitation sent again", "{{actor}} sent the invitation of {{target}} again"),
    ("worker.invitation.link", "Invitation link created",
     "{{actor}} created a link with which {{target}} can accept an invitation"),
    ("worker.invitation.withdrawn", "Invitation withdrawn", "{{actor}} withdrew the invitation of {{target}}"),
    ("worker.joined", "Invitation accepted", "{{actor}} accepted the invitation of {{inviter}}"),
    ("worker.push.on", "Device notified", "{{actor}} turned on notifications of {{target}} on {{device}}"),
    ("worker.push.off", "Device no longer notified", "{{actor}} turned off notifications of {{target}} on {{device}}"),
    ("worker.passkey.added", "Passkey added", "{{actor}} added the passkey {{passkey}} of {{target}}"),
    (
        "worker.passkey.refused", "Passkey refused",
        "The passkey {{passkey}} of {{target}} was refused, since its counter did not rise; from {{ip}}",
    ),
    ("worker.passkey.removed", "Passkey removed", "{{actor}} removed the passkey {{passkey}} of {{target}}"),
    (
        "worker.passkey.renamed", "Passkey renamed",
        "{{actor}} renamed the passkey {{before}} of {{target}} to {{passkey}}",
    ),
    (
        "worker.password.link", "Password link created",
        "{{actor}} created a link with which {{target}} can choose a password",
    ),
    ("worker.password.set", "Password set", "{{actor}} set the password of {{target}}"),
    (
        "worker.second_factor.codes", "Recovery codes created",
        "{{actor}} created new recovery codes for the second factor of {{target}}",
    ),
    ("worker.second_factor.off", "Second factor off", "{{actor}} turned off the second factor of {{target}}"),
    ("worker.second_factor.on", "Second factor on", "{{actor}} turned on the second factor of {{target}}"),
    (
        "sign_in_provider.created", "Sign-in provider added",
        "{{actor}} added the sign-in provider {{target}} at {{issuer}}",
    ),
    (
        "sign_in_provider.changed", "Sign-in provider changed",
        "{{actor}} changed the sign-in provider {{target}}: {{changes}}",
    ),
    ("sign_in_provider.deleted", "Sign-in provider deleted", "{{actor}} deleted the sign-in provider {{target}}"),
    ("sign_in_provider.disabled", "Sign-in provider off", "{{actor}} turned off the sign-in provider {{target}}"),
    ("sign_in_provider.enabled", "Sign-in provider on", "{{actor}} turned on the sign-in provider {{target}}"),
    ("sign_in_provider.tried", "Sign-in provider tried", "{{actor}} tried the sign-in provider {{target}}"),
    ("sign_in.only.off", "Passwords allowed", "{{actor}} allowed passwords again for signing in"),
    ("sign_in.only.on", "Passwords off", "{{actor}} allowed signing in with a provider only"),
    (
        "worker.linked", "Account linked",
        "{{actor}} linked {{target}} to the account {{account}} at {{provider}}",
    ),
    (
        "worker.unlinked", "Account unlinked",
        "{{actor}} unlinked {{target}} from the account {{account}} at {{provider}}",
    ),
    (
        "worker.provisioned", "Worker created at sign-in",
        "{{target}} signed in at {{provider}} for the first time and became a worker",
    ),
    (
        "worker.provider.signed_out", "Signed out by the provider",
        "{{provider}} signed {{target}} out of {{devices}}",
    ),
    (
        "worker.sign_in_link", "Sign-in link created",
        "{{actor}} created a link with which {{target}} can sign in once",
    ),
    ("worker.sessions.ended", "Devices signed out", "{{actor}} signed {{target}} out of {{devices}}"),
    ("group.roster.changed", "Roster changed", "{{actor}} changed the members of the group {{target}}: {{changes}}"),
    ("connected_account.connected", "Account connected", "{{actor}} connected {{target}} as {{email}}"),
    ("token.created", "Token created", "{{actor}} created a token of the app {{app}} for {{target}}: {{scopes}}"),
    ("token.ended", "Token revoked", "{{actor}} revoked {{tokens}} of {{target}}"),
    ("provisioning.token.created", "Provisioning token created", "{{actor}} created the provisioning token {{target}}"),
    ("provisioning.token.revoked", "Provisioning token revoked", "{{actor}} revoked the provisioning token {{target}}"),
    ("provisioning.group.released", "Group no longer provisioned",
     "{{actor}} removed all members of the group {{target}} and no longer fills it"),
    ("provisioning.worker.released", "Worker no longer provisioned",
     "{{actor}} deactivated {{target}} and no longer knows them"),
    ("consent.given", "App allowed", "{{actor}} allowed the app {{app}} to act for {{target}}: {{scopes}}"),
    ("assistant.called", "Assistant used", "{{actor}} used {{tool}} through the app {{app}}: {{outcome}}"),
    (
        "writing_assistant.provider.set", "Provider of the writing assistant set",
        "{{actor}} set the provider of the writing assistant to {{model}} at {{host}}",
    ),
    (
        "writing_assistant.provider.removed", "Provider of the writing assistant removed",
        "{{actor}} removed the provider of the writing assistant, {{model}} at {{host}}, with its key",
    ),
    (
        "writing_assistant.provider.tested", "Provider of the writing assistant tested",
        "{{actor}} sent a test to {{model}} at {{host}}: {{outcome}}",
    ),
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
    ("outgoing_webhook.tried", "Outgoing webhook tested", "{{actor}} sent a test to the outgoing webhook {{target}}"),
    (
        "outgoing_webhook.sent_again", "Outgoing webhook sent again",
        "{{actor}} resent deliveries of the outgoing webhook {{target}}: {{what}}",
    ),
    ("automation.run", "Automation run by hand", "{{actor}} ran the automation {{target}} by hand"),
    (
        "custom_field.option.renamed", "Option renamed",
        "{{actor}} renamed an option of the custom field {{target}} from {{old}} to {{new}}",
    ),
    ("custom_field.removed", "Deleted field removed",
     "{{actor}} permanently removed the deleted custom field {{field}}"),
    ("custom_field.restored", "Deleted field restored", "{{actor}} restored the deleted custom field {{target}}"),
    ("dkim.key.created", "Signing key created", "{{actor}} created the key {{selector}} to sign email from {{domain}}"),
    ("dkim.key.used", "Signing key used", "{{actor}} started signing email from {{domain}} with the key {{selector}}"),
    ("dkim.key.stopped", "Signing key stopped", "{{actor}} stopped signing email from {{domain}} with {{selector}}"),
    ("dkim.key.deleted", "Signing key deleted", "{{actor}} deleted the key {{selector}} of {{domain}}"),
    ("tag.merged", "Tags merged", "{{actor}} merged the tag {{tag}} into {{target}}"),
    ("tag.renamed", "Tag renamed", "{{actor}} renamed the tag {{old}} to {{target}}"),
    ("ticket_status.renamed", "Ticket status renamed", "{{actor}} renamed the ticket status {{old}} to {{target}}"),
    ("sender.changed", "Sender address changed", "{{actor}} changed the mail transport of {{target}}: {{transport}}"),
    ("setting.changed", "Setting changed", "{{actor}} changed the setting {{setting}} from {{old}} to {{new}}"),
    ("job.dropped", "Job dropped", "{{actor}} dropped job {{job}} ({{kind}}){{given}}"),
    ("job.run", "Job run by hand", "{{actor}} started the job {{kind}}"),
    ("scan.run", "Maintenance tasks run by hand", "{{actor}} ran all maintenance tasks"),
    ("scan.switched", "Maintenance task switched", "{{actor}} switched '{{scan}}' {{state}} in the scheduler"),
    ("mail.discarded", "Email discarded", "{{actor}} discarded the email {{file}}, which could not be processed"),
    ("mail.dropped", "Email dropped from the outbox", "{{actor}} dropped the email {{subject}} from the outbox"),
    ("mail.retried", "Email sent again by hand", "{{actor}} sent the email {{subject}} again"),
    ("mail.taken", "Email processed by hand", "{{actor}} processed the email {{file}} again"),
    ("mail.tested", "Mail transport tested", "{{actor}} sent a test email through {{target}} to {{recipient}}"),
    ("mailbox.checked", "Mailbox checked by hand", "{{actor}} checked the mailbox {{target}}"),
    ("mail.imported", "Email imported", "{{actor}} imported {{mails}} from files"),
    ("backup.downloaded", "Backup downloaded", "{{actor}} downloaded the backup {{file}}"),
    ("backup.made", "Backup started by hand", "{{actor}} started a backup"),
    ("backup.removed", "Backup removed", "{{actor}} removed the backup {{file}}"),
    (
        "backup.restored", "Backup restored",
        "{{actor}} restored the database from {{file}}; the previous one is kept as {{kept}}",
    ),
    ("backup.sent", "Backup uploaded", "{{actor}} uploaded the backup {{file}}"),
    ("backup.verified", "Backup verified by hand", "{{actor}} started verifying the backup {{file}}"),
    ("data.exported", "Data exported", "{{actor}} exported {{what}}"),
    ("data.imported", "Data imported", "{{actor}} imported {{file}}: {{what}}"),
    ("demo.added", "Demo data added", "{{actor}} added demo data"),
    ("demo.removed", "Demo data removed", "{{actor}} removed the demo data"),
    ("package.imported", "Package imported", "{{actor}} imported the package {{package}}, which created {{made}}"),
    (
        "package.updated", "Package updated",
        "{{actor}} updated the package {{package}}, which created {{made}} and changed {{changed}}",
    ),
    ("setup.link", "Setup link created", "{{actor}} created a setup link for the first administrator"),
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
