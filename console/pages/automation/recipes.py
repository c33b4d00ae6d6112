"""The recipes of the cookbook, to begin an automation with: a list, and a form with the prompts of each."""

from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.samples import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.automation.automations import BASE as AUTOMATIONS
from console.pages.packages import UNANSWERED, Prompt, prompts_of
from server.automation.package_grants import allowed_commands
from server.errors import Conflict, HelpdeskError
from server.packages import package_document as documents
from server.packages import package_import, recipes
from server.packages.prompts import unanswered
from server.packages.recipes import NAME, Recipe
from server.translation import _

BASE = f"{AUTOMATIONS}/recipes"


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> PageResponse:
    """All recipes: what each does, and what starts it."""
    all_recipes = sorted(map(recipes.recipe, recipes.names()), key=lambda each: each.title)
    return render(visit, "recipes.html", listed=all_recipes)


@page("GET", f"{BASE}/{{name}}", "proven admin")
def show(visit: Visit) -> PageResponse:
    """The prompts of a recipe. Raises NotFound."""
    recipe = recipes.recipe(visit.arguments["name"])
    prompts = _prompts(visit, recipe)
    form = Form(
        {each.name: each.default for each in prompts if not each.is_several},
        {each.name: [] for each in prompts if each.is_several},
    )
    return _form(visit, recipe, prompts, form)


@page("POST", f"{BASE}/{{name}}", "proven admin", creates=True)
def create(visit: Visit) -> PageResponse:
    """Create all that a recipe holds, or nothing, and open its automation."""
    recipe = recipes.recipe(visit.arguments["name"])
    prompts = _prompts(visit, recipe)
    form = Form.sent(
        visit.form,
        (each.name for each in prompts if not each.is_several),
        (each.name for each in prompts if each.is_several),
    )
    answers = {each.key: form.several[each.name] if each.is_several else form.get(each.name) for each in prompts}
    names = {each.key: each.name for each in prompts}
    for key in unanswered(documents.read(recipe.package), answers):
        form.fail(names[key], UNANSWERED)
    if form.is_wrong:
        return _form(visit, recipe, prompts, form)
    try:
        imported = package_import.import_package(visit.ctx, recipe.package, answers, grants_agreed=True)
    except Conflict:
        problem = _("This name is already taken. Choose another name.")
        return _form(visit, recipe, prompts, form.fail(names[NAME], problem))
    except HelpdeskError as error:
        field, why = str(error.details.get("field") or ""), error.details.get("reason")
        name = names.get(field.removeprefix("prompts[").removesuffix("]"))
        return _form(
            visit, recipe, prompts, form.fail(name, sentence(str(why))) if name and why else form.refuse(error)
        )
    records = {uid: each for of_type in imported.records.values() for uid, each in of_type.items()}
    said = [_("{name} created.", name=records[recipe.first]["label"])]
    if "hook" in records:
        said.append(_("The page of the webhook with the same name has the address to call."))
    visit.flash(" ".join(said))
    return see(f"{AUTOMATIONS}/{records[recipe.first]['id']}")


def _prompts(visit: Visit, recipe: Recipe) -> list[Prompt]:
    return prompts_of(visit, documents.read(recipe.package))


def _sample(recipe: Recipe, prompts: list[Prompt]) -> Sample:
    answers = [(f"prompts[{each.key}]", "secret" if each.is_secret else each.default or "answer") for each in prompts]
    return Sample("POST", "/rest/packages/import.json", [("recipe", recipe.name), *answers, ("grants", "1")])


def _form(visit: Visit, recipe: Recipe, prompts: list[Prompt], form: Form) -> PageResponse:
    commands = sorted({name for each in recipe.policies for name in allowed_commands(each)})
    return render(
        visit,
        "recipe.html",
        form.status,
        recipe=recipe,
        prompts=prompts,
        form=form,
        commands=commands,
        labels={each.name: each.label for each in prompts},
        sample=_sample(recipe, prompts),
    )
