"""The recipes of the cookbook, to begin an automation with: a list, and a form with the prompts of each."""

from console.html.form import Form
from console.html.rendering import render
from console.html.samples import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.pages.automation.automations import BASE as AUTOMATIONS
from console.pages.prompts import Prompts
from server.automation.package_grants import allowed_commands
from server.errors import Conflict, HelpdeskError
from server.packages import package_document as documents
from server.packages import package_import, recipes
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
    form = prompts.first_form({})
    return _form(visit, recipe, prompts, form)


@page("POST", f"{BASE}/{{name}}", "proven admin", creates=True)
def create(visit: Visit) -> PageResponse:
    """Create all that a recipe holds, or nothing, and open its automation."""
    recipe = recipes.recipe(visit.arguments["name"])
    prompts = _prompts(visit, recipe)
    form = prompts.sent(visit)
    answers = prompts.answers(form)
    prompts.require(form, answers)
    if form.is_wrong:
        return _form(visit, recipe, prompts, form)
    try:
        imported = package_import.import_package(visit.ctx, recipe.package, answers, grants_agreed=True)
    except Conflict:
        problem = _("This name is already taken. Choose another name.")
        return _form(visit, recipe, prompts, prompts.fail(form, NAME, problem))
    except HelpdeskError as error:
        return _form(visit, recipe, prompts, prompts.refuse(form, error))
    records = {uid: each for of_type in imported.records.values() for uid, each in of_type.items()}
    said = [_("{name} created.", name=records[recipe.first]["label"])]
    if "hook" in records:
        said.append(_("The page of the webhook with the same name has the address to call."))
    visit.flash(" ".join(said))
    return see(f"{AUTOMATIONS}/{records[recipe.first]['id']}")


def _prompts(visit: Visit, recipe: Recipe) -> Prompts:
    return Prompts(visit, documents.read(recipe.package))


def _sample(recipe: Recipe, prompts: Prompts) -> Sample:
    answers = [
        (f"prompts[{each.key}]", "secret" if each.is_secret else each.default or "answer") for each in prompts.all
    ]
    return Sample("POST", "/rest/packages/import.json", [("recipe", recipe.name), *answers, ("grants", "1")])


def _form(visit: Visit, recipe: Recipe, prompts: Prompts, form: Form) -> PageResponse:
    commands = sorted({name for each in recipe.policies for name in allowed_commands(each)})
    return render(
        visit,
        "recipe.html",
        recipe=recipe,
        prompts=prompts.all,
        form=form,
        commands=commands,
        labels=prompts.labels,
        sample=_sample(recipe, prompts),
    )
