"""The steps of rules and macros that are built by form: their parts, their check, and their commands in KATA.

A step is a map of texts: `kind`, and the values of its parts by name. The commands act on the ticket of the variables
`ticket_`, and a step that fails is logged and does not end the run."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Invalid, Mistakes, Required, nearest
from server.kata.encode import encode
from server.translation import N_, Words, _, shown

Step = Mapping[str, str]
Tree = dict[str, Any]
PartKind = Literal[
    "area",
    "bit",
    "custom field",
    "group",
    "line",
    "macro",
    "number",
    "place",
    "snippet",
    "status",
    "time",
    "worker",
    "workers",
]
MAX_STEPS = 20  # per rule or macro
MAX_TEXT_CHARS = 20_000  # per text of several lines
MAX_LINE_CHARS = 1_000
_BLANKS = re.compile(r"[\f\v]")
FIELD_NAMES = frozenset(("org_id", "subject"))  # fields of tickets that are set besides custom fields
STATUSES = ("open", "waiting", "closed")  # besides names of statuses, by their ids
RECORDS = {"group": "group", "macro": "automation", "snippet": "snippet", "worker": "worker"}  # part kind: record type
SEVERAL = {"workers": "worker"}  # part kind that names any number of records: record type
RECIPIENTS = ("to_owner", "to_watchers", "worker_ids", "group_id")  # parts of the step that notifies
NAMED = frozenset((*RECORDS.values(), "bucket", "custom_field", "ticket_status"))  # types of the records of steps


@dataclass(frozen=True, slots=True)
class StepPart:
    """A part of a step. kind: how it is chosen or typed. note: what to know about it. is_required: whether it must be
    filled in. least, most: of a number."""

    name: str
    label: Words
    kind: PartKind
    note: Words = ""
    is_required: bool = False
    least: int = 0
    most: int = 100


@dataclass(frozen=True, slots=True)
class StepKind:
    """A kind of step. build(step, number): its commands, as a KATA tree; number: of the step, from 1, in the names of
    its commands. sets: the changes of the ticket that it causes. one_of: parts of which one must be filled in. policy:
    {command: the condition of its policy} of the commands."""

    name: str
    label: Words
    parts: tuple[StepPart, ...]
    build: Callable[[Step, int], Tree]
    policy: Mapping[str, str]
    sets: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    def part(self, name: str) -> StepPart:
        return next(each for each in self.parts if each.name == name)


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A record that a step names. place: of the step, from 0. part: the name of the part. uri: the record type."""

    place: int
    part: str
    uri: str
    id: int


TICKET_POLICY = {"record.update": "{{inputs.record_type == 'ticket'}}"}
ALWAYS = "yes"


def _command(name: str, label: Words, number: int, inputs: Tree, **more: Any) -> Tree:
    """A command that logs its failure."""
    output = f"step_{number}"
    logged = {"log.error": f"{number}. {label}: {{{{{output}.error}}}}"}
    return {f"{name}/{output}": {"output": output, "inputs": inputs, **more, "on_error": logged}}


def _update(label: Words, number: int, fields: Tree) -> Tree:
    inputs = {"record_type": "ticket", "record_id@key": "ticket_id", "fields": fields}
    return _command("record.update", label, number, inputs)


def _owner(step: Step, number: int) -> Tree:
    return _update("Assign", number, {"owner_id": step.get("worker_id") or "0"})


def _take(step: Step, number: int) -> Tree:
    return _update("Assign", number, {"owner_id@key": "worker_id"})


def _next_owner(way: str) -> Callable[[Step, int], Tree]:
    """Returns the builder of an assignment. way: input of the command ticket.assign."""

    def build(step: Step, number: int) -> Tree:
        return _command("ticket.assign", "Assign", number, {"ticket_id@key": "ticket_id", "way": way})

    return build


def _move(step: Step, number: int) -> Tree:
    uri, _colon, id = step["place"].partition(":")
    return _update("Move", number, {f"{uri}_id": id})


def _status(step: Step, number: int) -> Tree:
    name = "status_name_id" if is_whole(step["status"]) else "status"
    return _update("Status", number, {name: step["status"]})


def _wait(step: Step, number: int) -> Tree:
    return _update("Wait", number, {"status": "waiting", "reopen_at@raw": step["until"]})


def _close(step: Step, number: int) -> Tree:
    return _update("Close", number, {"status": "closed"})


def _tags(step: Step, number: int) -> Tree:
    return _update("Tags", number, {"tags@raw": step["tags"]})


def _field(step: Step, number: int) -> Tree:
    return _update("Field", number, {f"{step['field']}@raw": step.get("value", "")})


def _importance(step: Step, number: int) -> Tree:
    return _update("Importance", number, {"importance@int": step["importance"]})


def _watch(step: Step, number: int) -> Tree:
    return _update("Watcher", number, {"links@list": f"worker:{step['worker_id']}"})


def _text(step: Step, number: int, worker_id: str = "0") -> tuple[Tree, Tree]:
    """The command that sets the text of a step, and the filled-in text as an input. worker_id: of the worker who writes
    it, as an expression."""
    if step.get("snippet_id"):
        return {}, {"@text": f"{{{{svc_snippet({step['snippet_id']}, ticket_id, {worker_id})}}}}"}
    text = f"text_{number}"
    return {f"set/{text}": {f"{text}@raw": step["text"]}}, {
        "@text": f"{{{{svc_fill({text}, ticket_id, {worker_id})}}}}"
    }


def _reply(step: Step, number: int) -> Tree:
    writer = f"writer_{number}"
    worker_id = step["worker_id"]
    if step.get("by_owner"):
        worker_id = f"{{{{ticket_owner_id and not ticket_owner_is_disabled ? ticket_owner_id : {worker_id}}}}}"
    set_text, filled = _text(step, number, writer)
    set_text = {f"set/{writer}": {writer: worker_id}} | set_text
    automatic = {"is_autoreply@int": "1"} if step.get("is_automatic") else {}
    fields = {
        "type": "ticket.reply",
        "name@key": "ticket_subject",
        "ticket_id@key": "ticket_id",
        "worker_id@key": writer,
        "is_queued@int": "1",
        "params": {
            "in_reply_message_id@key": "ticket_latest_message_id",
            "content": filled["@text"],
            "format": "parsedown",
            "is_applied@int": "1",
            **automatic,
        },
    }
    return set_text | _command("record.create", "Reply", number, {"record_type": "draft", "fields": fields})


def _note(step: Step, number: int) -> Tree:
    set_text, filled = _text(step, number)
    fields = {"target__context": "ticket", "target_id@key": "ticket_id", "comment": filled["@text"]}
    return set_text | _command("record.create", "Note", number, {"record_type": "comment", "fields": fields})


def _notify(step: Step, number: int) -> Tree:
    set_text, filled = _text({"text": step["text"]}, number)
    recipients = [name for name in ("owner", "watchers") if step.get(f"to_{name}")]
    recipients += [f"worker:{id}" for id in _ids(step.get("worker_ids", ""))]
    if step.get("group_id"):
        recipients.append(f"group:{step['group_id']}")
    inputs = {"ticket_id@key": "ticket_id", "to": recipients, "message": filled["@text"]}
    return set_text | _command("ticket.notify", "Notify", number, inputs)


def _ids(text: str) -> list[str]:
    """The ids of a part that names several records."""
    return [each.strip() for each in text.split(",") if each.strip()]


def _web(step: Step, number: int) -> Tree:
    body = {
        "ticket_id@key": "ticket_id",
        "mask@key": "ticket_mask",
        "subject@key": "ticket_subject",
        "status@key": "ticket_status",
        "url@key": "ticket_url",
    }
    inputs = {
        "url@raw": step["url"],
        "method": "POST",
        "headers": {"content-type": "application/json"},
        "body": body,
        "retry@bool": "yes",
    }
    pretended = {"simulate.success": {"status_code@int": "200"}}
    return _command("http.request", "Call a web address", number, inputs, on_simulate=pretended)


def _macro(step: Step, number: int) -> Tree:
    inputs = {"ticket_id@key": "ticket_id", "automation_id": step["macro_id"], "worker_id": step["worker_id"]}
    return _command("ticket.macro", "Macro", number, inputs)


_WORKER = StepPart("worker_id", N_("Worker"), "worker", is_required=True)
_TEXTS = (
    StepPart("snippet_id", N_("Snippet"), "snippet"),
    StepPart(
        "text",
        N_("Text"),
        "area",
        N_("In place of a snippet. The same placeholders as in snippets, such as {{subject}}."),
    ),
)


def _create_policy(uri: str) -> dict[str, str]:
    return {"record.create": f"{{{{inputs.record_type == '{uri}'}}}}"}


KINDS: tuple[StepKind, ...] = (
    StepKind("assign", N_("Assign to a worker"), (_WORKER,), _owner, TICKET_POLICY, ("owner",)),
    StepKind("unassign", N_("Assign to nobody"), (), _owner, TICKET_POLICY, ("owner",)),
    *(
        StepKind(name, label, (), _next_owner(way), {"ticket.assign": ALWAYS}, ("owner",))
        for name, label, way in (
            ("group_way", N_("Assign by the group's way"), "group"),
            ("turn", N_("Assign to the members of the group in turn"), "round_robin"),
            ("fewest_open", N_("Assign to the member with the fewest open tickets"), "fewest_open"),
        )
    ),
    StepKind(
        "move",
        N_("Move to a group or bucket"),
        (StepPart("place", N_("To"), "place", is_required=True),),
        _move,
        TICKET_POLICY,
        ("place",),
    ),
    StepKind(
        "status",
        N_("Set the status"),
        (StepPart("status", N_("Status"), "status", is_required=True),),
        _status,
        TICKET_POLICY,
        ("status",),
    ),
    StepKind(
        "wait",
        N_("Wait until"),
        (StepPart("until", N_("Until"), "time", N_("Such as +3 days, or monday 9am."), is_required=True),),
        _wait,
        TICKET_POLICY,
        ("status",),
    ),
    StepKind("close", N_("Close"), (), _close, TICKET_POLICY, ("status",)),
    StepKind(
        "tags",
        N_("Change tags"),
        (StepPart("tags", N_("Tags"), "line", N_("With commas between; a leading - removes one."), is_required=True),),
        _tags,
        TICKET_POLICY,
        ("tags",),
    ),
    StepKind(
        "field",
        N_("Set a field"),
        (
            StepPart("field", N_("Field"), "custom field", is_required=True),
            StepPart("value", N_("Value"), "line", N_("Blank clears it.")),
        ),
        _field,
        TICKET_POLICY,
        ("field",),
    ),
    StepKind(
        "importance",
        N_("Set the importance"),
        (StepPart("importance", N_("Importance"), "number", N_("0 to 100."), is_required=True),),
        _importance,
        TICKET_POLICY,
        ("importance",),
    ),
    StepKind("watch", N_("Add a watcher"), (_WORKER,), _watch, TICKET_POLICY),
    StepKind(
        "reply",
        N_("Send a reply"),
        (
            StepPart("worker_id", N_("In the name of"), "worker", is_required=True),
            StepPart("by_owner", N_("In the name of the owner instead, if the ticket has one"), "bit"),
            *_TEXTS,
            StepPart(
                "is_automatic",
                N_("Automatic reply"),
                "bit",
                N_("Marked as one, and sent at most once an hour to each address."),
            ),
        ),
        _reply,
        _create_policy("draft"),
        ("reply",),
        ("snippet_id", "text"),
    ),
    StepKind("note", N_("Write a note"), _TEXTS, _note, _create_policy("comment"), (), ("snippet_id", "text")),
    StepKind(
        "notify",
        N_("Notify workers"),
        (
            StepPart("to_owner", N_("The owner of the ticket"), "bit"),
            StepPart("to_watchers", N_("Its watchers"), "bit"),
            StepPart("worker_ids", N_("Workers"), "workers"),
            StepPart("group_id", N_("Members of the group"), "group"),
            StepPart("text", N_("Text"), "line", is_required=True),
        ),
        _notify,
        {"ticket.notify": ALWAYS},
        one_of=RECIPIENTS,
    ),
    StepKind(
        "web",
        N_("Call a web address"),
        (
            StepPart(
                "url",
                N_("Address"),
                "line",
                N_("It receives the id, number, subject, status and address of the ticket as JSON, by POST."),
                is_required=True,
            ),
        ),
        _web,
        {"http.request": ALWAYS},
    ),
    StepKind(
        "macro",
        N_("Run a macro"),
        (
            StepPart("macro_id", N_("Macro"), "macro", is_required=True),
            StepPart("worker_id", N_("In the name of"), "worker", is_required=True),
        ),
        _macro,
        {"ticket.macro": ALWAYS},
        ("importance", "owner", "place", "status", "tags", "field"),
    ),
)
# Steps that only macros have, which a worker runs: `take` assigns to that worker, `answer` fills the reply form.
MACRO_KINDS = (
    StepKind("take", N_("Assign to me"), (), _take, TICKET_POLICY, ("owner",)),
    StepKind("answer", N_("Write a reply"), _TEXTS, lambda step, number: {}, {}, ("reply",), ("snippet_id", "text")),
)
_BY_NAME = {each.name: each for each in (*KINDS, *MACRO_KINDS)}


def kind_of(step: Step) -> StepKind:
    """Returns the kind of a step that has been checked."""
    return _BY_NAME[step["kind"]]


def read(values: Any, field: str = "steps") -> list[dict[str, str]]:
    """Returns checked steps: a map of texts each, without blank parts.

    Raises Invalid and Required with all mistakes; the field of an error is `<field>.<place from 0>.<part>`."""
    if not isinstance(values, list):
        raise Invalid(f"{field}: takes a list of steps", field=field)
    if not values:
        raise Required(_("add at least one step"), field=field)
    if len(values) > MAX_STEPS:
        raise Invalid(_("at most {count} steps", count=MAX_STEPS), field=field)
    mistakes = Mistakes()
    steps = [_read_step(each, f"{field}.{place}", mistakes) for place, each in enumerate(values)]
    mistakes.require_none()
    return steps


def _read_step(value: Any, field: str, mistakes: Mistakes) -> dict[str, str]:
    """Returns a checked step; mistakes in its parts are added to the others. Raises Invalid for an unknown kind or
    part."""
    if not isinstance(value, Mapping):
        raise Invalid(f"{field}: a step is a map with its kind and its parts", field=field)
    name = str(value.get("kind", ""))
    kind = _BY_NAME.get(name)
    if kind is None:
        near = nearest(name, _BY_NAME)
        raise Invalid(f"{field}: '{name[:80]}' is not a kind of step{near}", field=f"{field}.kind")
    if kind.name == "notify":
        value = _with_recipients(value)
    names = {each.name for each in kind.parts}
    for name in value:
        if name != "kind" and name not in names:
            near = nearest(str(name), names)
            raise Invalid(f"{field}: '{kind.name}' has no part '{str(name)[:80]}'{near}", field=field)
    step = {"kind": kind.name}
    for part in kind.parts:
        with mistakes.collect():
            text = _read_part(part, value.get(part.name), f"{field}.{part.name}")
            if text:
                step[part.name] = text
    if kind.one_of and not any(step.get(name) for name in kind.one_of):
        labels = ", ".join(shown(kind.part(name).label) for name in kind.one_of)
        mistakes.add(Required(_("fill in one of: {names}", names=labels), field=f"{field}.{kind.one_of[-1]}"))
    return step


def _with_recipients(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Returns a step that notifies with its recipients: without any it has a `worker_id`, else it means the owner."""
    if any(name in value for name in RECIPIENTS):
        return value
    others = {name: each for name, each in value.items() if name != "worker_id"}
    return others | ({"worker_ids": value["worker_id"]} if value.get("worker_id") else {"to_owner": "1"})


def _read_part(part: StepPart, value: Any, field: str) -> str:
    if part.kind in SEVERAL and isinstance(value, list):
        value = ", ".join(str(each) for each in value)
    if isinstance(value, (dict, list)):
        raise Invalid(f"{field}: takes a text", field=field)
    text = "" if value is None or value is False else str(int(value) if value is True else value)
    text = _BLANKS.sub(" ", text.replace("\r", "").expandtabs(4)).strip()
    if not text:
        if part.is_required:
            raise Required(_("{name} is required", name=shown(part.label)), field=field)
        return ""
    most = MAX_TEXT_CHARS if part.kind == "area" else MAX_LINE_CHARS
    if len(text) > most:
        raise Invalid(_("at most {count} characters, this has {number}", count=most, number=len(text)), field=field)
    if part.kind != "area" and "\n" in text:
        raise Invalid(_("must be one line"), field=field)
    problem = _problem(part, text)
    if problem:
        raise Invalid(problem, field=field)
    return "" if part.kind == "bit" and text == "0" else text


def _problem(part: StepPart, text: str) -> str:
    """Returns the mistake in a text, "" for a correct one."""
    if part.kind == "bit":
        return "" if text in ("0", "1") else _("takes 0 or 1")
    if part.kind == "number":
        fits = is_whole(text) and part.least <= int(text) <= part.most
        return "" if fits else _("must be a number from {least} to {most}", least=part.least, most=part.most)
    if part.kind in (*RECORDS, *SEVERAL):
        ids = _ids(text) if part.kind in SEVERAL else [text]
        return "" if all(is_whole(each) and int(each) for each in ids) else _("choose one from the list")
    if part.kind == "status":
        return "" if is_whole(text) or text in STATUSES else _("choose one from the list")
    if part.kind == "place":
        uri, _colon, id = text.partition(":")
        return "" if uri in ("group", "bucket") and is_whole(id) else _("choose a group or a bucket")
    if part.kind == "custom field":
        fits = text in FIELD_NAMES or (text.startswith("custom_") and is_whole(text.removeprefix("custom_")))
        return "" if fits else _("choose a field")
    if part.name == "url":
        fits = text.startswith(("https://", "http://")) and not any(each.isspace() for each in text)
        return "" if fits else _("must begin with https:// or http://")
    return ""


def references(steps: Sequence[Step]) -> list[NamedRecord]:
    """Returns the records that checked steps name."""
    records = []
    for place, step in enumerate(steps):
        for part in kind_of(step).parts:
            text = step.get(part.name, "")
            if text and part.kind in RECORDS:
                records.append(NamedRecord(place, part.name, RECORDS[part.kind], int(text)))
            elif part.kind in SEVERAL:
                records += [NamedRecord(place, part.name, SEVERAL[part.kind], int(id)) for id in _ids(text)]
            elif text and part.kind == "place":
                uri, _colon, id = text.partition(":")
                records.append(NamedRecord(place, part.name, uri, int(id)))
            elif part.kind == "status" and is_whole(text):
                records.append(NamedRecord(place, part.name, "ticket_status", int(text)))
            elif part.kind == "custom field" and text.startswith("custom_"):
                records.append(NamedRecord(place, part.name, "custom_field", int(text.removeprefix("custom_"))))
    return records


def commands(steps: Iterable[Step]) -> Tree:
    """Returns the commands of checked steps, as a KATA tree to be put below `start:` or `then:`."""
    tree: Tree = {}
    for number, step in enumerate(steps, 1):
        tree |= kind_of(step).build(step, number)
    return tree


def policy_commands(steps: Iterable[Step]) -> dict[str, dict[str, str]]:
    """Returns the rules of the policy for checked steps: {command: {allow@bool or allow/<kind>@bool: condition}}."""
    rules: dict[str, dict[str, str]] = {}
    for kind in {step["kind"]: kind_of(step) for step in steps}.values():
        for command, condition in kind.policy.items():
            present = rules.setdefault(command, {})
            if condition not in present.values():
                present[f"allow/{kind.name}@bool"] = condition
    return rules


def kata(tree: Tree) -> str:
    """Returns a KATA tree as text."""
    return encode(tree) + "\n"
