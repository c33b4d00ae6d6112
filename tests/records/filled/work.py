"""The types of work and administration."""

from tests.records.desk import Desk

TYPES = (
    "worker", "group", "bucket", "role", "task", "call", "asset", "notification", "activity_log", "oauth_app",
    "custom_field", "custom_fieldset", "html_template", "email_signature", "mail_transport",
    "custom_record",
)  # fmt: skip
SENTENCE = {"message": "{{actor}} left", "variables": {"actor": "Ana & Co"}, "urls": {"actor": "ctx://worker:1"}}


def populate(desk: Desk) -> dict[str, int]:
    """Creates one record of each type, with every field that other types read."""
    ids = desk.people()
    made = {**ids, "worker": ids["milo"], "group": ids["support"]}
    app = {"owner__context": "app", "owner_id": 0}
    made["mail_transport"] = desk.create("mail_transport", name="T", extension_id="core.mail.transport.null")["id"]
    made["role"] = desk.create(
        "role", name="Clerks", member_query_worker="group:(name:Support)", privs_mode="itemized",
        privs=["contexts.svc.contexts.task.update"],
    )["id"]  # fmt: skip
    made["email_signature"] = desk.create("email_signature", name="S", signature="Yours", **app)["id"]
    made["html_template"] = desk.create(
        "html_template", name="H", content="<p></p>", signature_id=made["email_signature"], **app
    )["id"]
    made["bucket"] = desk.create(
        "bucket", name="Refunds", group_id=ids["support"], reply_signature_id=made["email_signature"]
    )["id"]
    made["task"] = desk.create("task", title="Pump", owner_id=ids["milo"], links=[f"worker:{ids['olga']}"])["id"]
    made["call"] = desk.create("call", subject="About the pump", phone="555 0100")["id"]
    made["asset"] = desk.create("asset", name="Pump")["id"]
    made["custom_fieldset"] = desk.create("custom_fieldset", name="Technical", context="task", **app)["id"]
    made["custom_field"] = desk.create(
        "custom_field", name="Serial number", uri="serial", type="S", context="task",
        custom_fieldset_id=made["custom_fieldset"],
    )["id"]  # fmt: skip
    desk.update("task", made["task"], serial="AB-12")
    desk.create(
        "comment",
        comment="A pump leaks",
        target__context="task",
        target_id=made["task"],
        author__context="worker",
        author_id=ids["nora"],
    )
    made["notification"] = desk.create(
        "notification", worker_id=ids["milo"], activity_point="custom.other", params=SENTENCE,
        target__context="task", target_id=made["task"],
    )["id"]  # fmt: skip
    made["custom_record"] = desk.create("custom_record", name="Parcel", name_plural="Parcels", uri="parcel")["id"]
    made["oauth_app"] = desk.create("oauth_app", name="Stock", callback_url="https://stock.example/back")["id"]
    made["activity_log"] = desk.create(
        "activity_log", activity_point="custom.other", params=SENTENCE, actor__context="worker",
        actor_id=ids["nora"], target__context="task", target_id=made["task"],
    )["id"]  # fmt: skip
    return made
