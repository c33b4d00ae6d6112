"""The action that imports a package, as administrators do."""

from typing import Any

from server.automation.behaviors.action import OBJECT, ActionCall, action
from server.packages.package_import import import_package


@action("core.bot.action.package.import", "Import a package.", placeholder=OBJECT, effects=True)
def package_import(call: ActionCall) -> Any:
    """Returns {record type: {uid: {id, label}}} of the created records. Imports everything or nothing."""
    answers = call.map("prompts_json") if call.raw("prompts_json").strip() not in ("", "{}", "[]") else {}
    return import_package(call.run.ctx, call.map("package_json"), answers).records
