"""The record types that packages export, and the fields that are not exported."""

# Types of the configuration, with the small records around them. Conversations, files, sessions and logs are left out.
EXPORTED = frozenset((
    "asset", "automation", "automation_event", "automation_timer", "bot", "brand", "bucket", "calendar",
    "calendar_event", "calendar_event_recurring", "call", "connected_account", "connected_service",
    "contact_form", "currency", "custom_field", "custom_fieldset", "custom_record", "email_signature", "group",
    "html_template", "kb_article", "kb_category", "mail_transport", "mailbox", "metric", "oauth_app",
    "opportunity", "org", "outgoing_webhook", "project_board", "project_board_column", "queue", "role",
    "saved_search", "service_target", "snippet", "tag", "task", "ticket_status", "timetracking_activity", "toolbar",
    "webhook_listener", "workspace_list", "workspace_page", "workspace_tab", "workspace_widget",
))  # fmt: skip
# Fields that belong to one service: counts, states, generated addresses, and defaults that only one record can be.
LEFT_OUT = frozenset((
    ("automation_timer", "last_ran_at"), ("brand", "group_ids"), ("brand", "is_public"),
    ("bucket", "is_default"),
    ("contact_form", "consent_version"), ("contact_form", "is_on"),
    ("currency", "is_default"), ("group", "is_default"),
    ("mailbox", "checked_at"), ("mailbox", "num_fails"), ("oauth_app", "client_id"), ("oauth_app", "overlap_until"),
    ("outgoing_webhook", "overlap_until"), ("outgoing_webhook", "secret"), ("project_board", "columns"),
    ("snippet", "total_uses"), ("webhook_listener", "guid"),
))  # fmt: skip
# {type: [(type of its parts, the column that refers to the owner)]}
ON: dict[str, tuple[tuple[str, str], ...]] = {
    "bot": (("behavior", "bot_id"),),
    "calendar": (("calendar_event", "calendar_id"), ("calendar_event_recurring", "calendar_id")),
    "custom_fieldset": (("custom_field", "custom_fieldset_id"),),
    "project_board": (("project_board_column", "board_id"),),
    "workspace_page": (("workspace_tab", "page_id"),),
    "workspace_tab": (("workspace_widget", "tab_id"), ("workspace_list", "tab_id")),
}
# Tokens that the service obtains again when the account is connected.
RENEWED = {"connected_account": ("access_token", "refresh_token", "session_token", "expires_at", "token_type")}
# {(type, key in one of its structures): the type of the record with that id}
PARAM_TARGETS = {
    ("contact_form", "field_id"): "custom_field",
    ("contact_form", "if_field_id"): "custom_field",
    ("mail_transport", "connected_account"): "connected_account",
}
