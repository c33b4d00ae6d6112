"""The prompts of packages and recipes as the fields of a form."""

from typing import Any

from console.html.form import Form, sentence
from console.html.ui import Option
from console.http.visit import Visit
from console.lists import lookup
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.packages import prompts
from server.packages.package_document import PackageDocument, Tree
from server.translation import N_, Words


@dataclass(frozen=True)
class Prompt:
    """A question of a package. name: of its field. options: to choose from, [] for a line to type into.
    is_secret: whether the line hides what is typed."""

    key: str
    name: str
    label: str
    is_several: bool
    options: list[Option]
    default: str
    is_secret: bool

    @property
    def ticks(self) -> list[tuple[str, Words, Words]]:
        """The options with room for their meanings, for a list of checkboxes."""
        return [(value, label, "") for value, label in self.options]


class Prompts:
    """The prompts of a package. all: in order. labels: {name of the field: label}."""

    def __init__(self, visit: Visit, document: PackageDocument) -> None:
        self.document = document
        self.all = [_prompt(visit, f"p{number}", each) for number, each in enumerate(document.prompts)]
        self.labels = {each.name: each.label for each in self.all}
        self._names = {each.key: each.name for each in self.all}

    def first_form(self, answers: Tree) -> Form:
        """The form with these answers, by the keys of the prompts, else the defaults."""
        form = Form()
        for each in self.all:
            answer = None if each.is_secret else answers.get(each.key)
            if each.is_several:
                chosen = answer if isinstance(answer, list) else [] if answer is None else [answer]
                form.several[each.name] = [str(one) for one in chosen]
            else:
                form.values[each.name] = each.default if answer is None else str(answer)
        return form

    def sent(self, visit: Visit, *others: str) -> Form:
        """The submitted form. others: further fields."""
        one = (each.name for each in self.all if not each.is_several)
        return Form.sent(visit.form, (*one, *others), (each.name for each in self.all if each.is_several))

    def answers(self, form: Form) -> dict[str, Any]:
        """The answers by the keys of the prompts."""
        return {each.key: form.several[each.name] if each.is_several else form.get(each.name) for each in self.all}

    def require(self, form: Form, answers: Tree) -> None:
        """Adds a mistake for each prompt without an answer."""
        for key in prompts.unanswered(self.document, answers):
            self.fail(form, key, N_("Answer this question."))

    def fail(self, form: Form, key: str, message: Words) -> Form:
        """Adds a mistake at a prompt."""
        return form.fail(self._names[key], message)

    def refuse(self, form: Form, error: HelpdeskError) -> Form:
        """Adds the mistakes of an import; a mistake in an answer at its prompt, in words about the answer alone."""
        field, why = str(error.details.get("field") or ""), error.details.get("reason")
        name = self._names.get(field.removeprefix("prompts[").removesuffix("]"))
        return form.fail(name, sentence(str(why))) if name and why else form.refuse(error)


def _prompt(visit: Visit, name: str, each: Tree) -> Prompt:
    question = prompts.question(visit.ctx, each)
    options = question.options if question.options else lookup.options(visit, question.records)
    if options and not question.is_several and "" not in dict(options):
        options = [("", N_("Choose")), *options]
    return Prompt(each["key"], name, question.label, question.is_several, options, question.default, question.is_secret)
