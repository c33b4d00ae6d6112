"""Imports and exports packages."""

from typing import Any

from server.errors import Conflict
from server.packages import package_export, package_import, recipes
from server.packages.baselines import CREATE, REFUSE, UPDATE
from server.packages.package_document import MAX_DEPTH, MAX_PACKAGE_BYTES, Tree
from server.web import envelope
from server.web.endpoint_call import EndpointCall, Response
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

MADE = shapes.keys(
    {
        "behavior_id": shapes.ID,
        "client_id": shapes.TEXT,
        "client_secret": shapes.TEXT,
        "secret": shapes.TEXT,
        "parent_id": shapes.ID,
        "type": shapes.TEXT,
        "url": shapes.TEXT,
    },
    id=shapes.ID,
    label=shapes.TEXT,
)
RECIPE = shapes.keys(
    name=shapes.TEXT,
    title=shapes.TEXT,
    about=shapes.TEXT,
    starts=shapes.TEXT,
    needs=shapes.TEXT,
    prompts=shapes.list_of(shapes.OBJECT),
)
CHANGE = shapes.keys(
    {"before": shapes.TEXT, "after": shapes.TEXT},
    field=shapes.TEXT,
    state=shapes.TEXT,
)
UPDATED = shapes.keys(id=shapes.ID, label=shapes.TEXT, changes=shapes.list_of(CHANGE))
KEPT = shapes.keys(id=shapes.ID, label=shapes.TEXT, fields=shapes.list_of(shapes.TEXT))
NOTES = {
    "dry_run": shapes.FLAG,
    "notes": shapes.list_of(shapes.TEXT),
    "grants": shapes.list_of(shapes.TEXT),
    "records_updated": shapes.map_of(shapes.map_of(UPDATED)),
    "records_unchanged": shapes.COUNT,
    "records_kept": shapes.map_of(shapes.map_of(KEPT)),
}


@endpoint(
    "POST", "packages/import", "Import a package in one transaction. For administrators.", "write",
    Parameter("package_json", "json", f"The package, as JSON of at most {MAX_PACKAGE_BYTES} bytes; or send `recipe`."),
    Parameter("recipe", "string", "Name of a recipe of the cookbook, whose package is imported. Prompts without an "
                                  "answer use their default."),
    Parameter("prompts[]", "map", "Answers to the prompts of the package, by their keys."),
    Parameter("dry_run", "boolean", "1: create nothing, and return what would be created."),
    Parameter("grants", "boolean", "1: allow the permissions that the package grants; a dry run lists them."),
    Parameter("mode", "string", "create: create new records. update: change the records that the last import of the "
              "package created, matched by uid, and create missing ones."),
    Parameter("conflicts", "string", "With mode=update, for fields that changed both here and in the package. refuse: "
              "refuse the import and list them. keep: keep the current value. take: use the value of the package."),
    size="file", response=shapes.keys(NOTES, records_created=shapes.map_of(shapes.map_of(MADE))),
)  # fmt: skip
def import_package(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    package, answers = _package(call)
    dry_run = params.flag("dry_run")
    mode = params.text("mode", CREATE)
    report = package_import.import_package(
        call.ctx,
        package,
        answers,
        dry_run=dry_run,
        grants_agreed=params.flag("grants"),
        mode=mode,
        conflicts=params.text("conflicts", REFUSE),
    )
    response: dict[str, Any] = {"records_created": report.records}
    if mode == UPDATE:
        response |= {"records_updated": report.updated, "records_unchanged": report.unchanged}
        response |= {"records_kept": report.kept} if report.kept else {}
    if dry_run:
        response["dry_run"] = 1
    if report.granted:
        response["grants"] = report.granted
    return response | ({"notes": report.notes} if report.notes else {})


def _package(call: EndpointCall) -> tuple[Any, Tree]:
    """Returns the package to import and the answers to its prompts. Raises Required, Conflict, NotFound."""
    params = call.params
    recipe, answers = params.text("recipe", ""), params.map("prompts")
    if not recipe:
        return params.json("package_json", required=True, most=MAX_PACKAGE_BYTES, depth=MAX_DEPTH), answers
    if params.tree.get("package_json") not in (None, ""):
        raise Conflict("send either package_json or recipe", field="recipe")
    package = recipes.recipe(recipe).package
    return package, recipes.with_defaults(package, answers)


@endpoint(
    "GET",
    "packages/recipes",
    "The recipes of the cookbook: what each does, and its prompts.",
    "read",
    response=shapes.keys(results=shapes.list_of(RECIPE), total=shapes.COUNT),
)
def list_recipes(call: EndpointCall) -> dict[str, Any]:
    described = [recipes.recipe(name) for name in recipes.names()]
    results = [
        {
            "name": each.name,
            "title": each.title,
            "about": each.about,
            "starts": each.starts,
            "needs": each.needs,
            "prompts": each.package["package"]["configure"]["prompts"],
        }
        for each in described
    ]
    return {"results": results, "total": len(results)}


@endpoint(
    "POST",
    "packages/export",
    "Export records as a package, with everything that belongs to them. For administrators.",
    "write",
    Parameter("records[]", "array", "The records, each as <type>:<id>.", required=True),
    Parameter("name", "string", "Name of the package."),
    response=shapes.keys(package=shapes.OBJECT),
)
def export_package(call: EndpointCall) -> Response:
    params = call.params
    package = package_export.export_package(
        call.ctx, params.text_list("records", required=True), params.text("name", "")
    )
    # The order of keys is that in which people read a package.
    return Response(body=envelope.success_in_order({"package": package}), content_type=envelope.CONTENT_TYPE)
