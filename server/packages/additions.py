"""Additions to records that every service has: entries of events and toolbars, nodes of behaviors, settings.

An update changes the additions of the last import and leaves the rest of the record unchanged."""

from typing import Any

from server import contexts
from server.digits import id_in
from server.errors import nearest
from server.kata import parse as parse_kata
from server.kata.blocks import blocks, replaced
from server.packages import grants, requirements
from server.packages.baselines import Baseline, digest, digests
from server.packages.changing import CHANGED, KEPT, Changes, merge
from server.packages.package_document import Tree, at, bad
from server.packages.sections import Addition
from server.record_types.record_type import Record
from server.records import service_settings
from server.records.writing import RecordWriter
from server.translation import lazy_gettext

NODE_CONTEXT = contexts.BEHAVIOR_NODE  # behavior nodes are not records, but results name them
ADDED_TO = {"events": ("automation_event", "automations_kata"), "toolbars": ("toolbar", "toolbar_kata")}
MAX_SETTING_CHARS = 65_536  # length of a setting or a preference
NODE = "node"  # the name of a node in its baseline


class Additions:
    """The additions of one import, within its transaction. entries: {name: baseline} of the additions of the last
    import, {} for a first import. made: the new baselines.

    nodes: {uid: the entry of a new node in the result}. granted, notes: see ImportResult."""

    def __init__(self, writing: RecordWriter, entries: dict[str, Baseline], changes: Changes) -> None:
        self._writing = writing
        self._tx = writing.tx
        self._registry = writing.registry
        self._entries = entries
        self._changes = changes
        self.made: dict[str, Baseline] = {}
        self.nodes: dict[str, Tree] = {}
        self.granted: list[str] = []
        self.notes: list[str] = []
        self._texts: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}  # {(section, name): (place, entries)}

    def add(self, addition: Addition, entry: Tree) -> None:
        """Applies one entry. Raises Invalid, and the errors of writing the record."""
        if addition.section not in ADDED_TO:
            self._put_node(addition, entry)
            return
        name, kata = str(entry[addition.key]), entry["kata"]
        if not isinstance(kata, str):
            raise bad("kata must be a text")
        self._holder(addition.section, name)
        key = _text_name(addition.section, name)
        if key in self._entries:
            self._texts.setdefault((addition.section, name), (addition.where, {}))[1].update(blocks(kata))
        else:
            self._append(addition.section, name, kata)

    def finish(self) -> None:
        """Updates the texts of events and toolbars, after all their entries have been added."""
        for name in self._entries:
            section, _, holder = name.partition(": ")
            if section in ADDED_TO:
                self._texts.setdefault((section, holder), (name, {}))
        for (section, name), (place, said) in self._texts.items():
            with at(place):
                self._update_text(section, name, place, said)

    # -- events and toolbars ----------------------------------------------------------------------------------------

    def _holder(self, section: str, name: str) -> Record:
        uri = ADDED_TO[section][0]
        record = self._writing.find(uri, name=name)
        if record is None:
            raise bad(
                lazy_gettext(
                    "there is no {type} '{name}'{nearest}",
                    type=uri.replace("_", " "),
                    name=name[:80],
                    nearest=nearest(name, self._names(uri)),
                )
            )
        return record

    def _names(self, uri: str) -> list[str]:
        table = self._registry.type(uri).table
        return [row[0] for row in self._tx.rows(lambda: table.sql.select(table.sql.name))]

    def _append(self, section: str, name: str, kata: str) -> None:
        """Appends text to an event or a toolbar, after an empty line."""
        column = ADDED_TO[section][1]
        record = self._holder(section, name)
        added = kata.strip("\r\n")
        before = record[column].rstrip()
        text = f"{before}\n\n{added}\n" if before else f"{added}\n"
        self._write_text(section, record, text, added)
        said = digests(blocks(added))
        known = self.made.setdefault(_text_name(section, name), Baseline())
        known.sent |= said
        known.stored |= said

    def _update_text(self, section: str, name: str, place: str, said: dict[str, str]) -> None:
        uri, column = ADDED_TO[section]
        record = self._holder(section, name)
        text = record[column]
        added = []

        def put(key: str, entry: Any) -> None:
            nonlocal text
            text = replaced(text, key, entry or "")
            added.append(entry or "")

        baseline = self._entries[_text_name(section, name)]
        changes, new_baseline = merge(self._changes, uri, place, baseline, said, dict(blocks(text)), put)
        if text != record[column]:
            self._write_text(section, record, text, "\n".join(filter(None, added)))
        self._changes.record(self._registry.type(uri).context, name, record["id"], name, changes)
        if said:
            self.made[_text_name(section, name)] = new_baseline

    def _write_text(self, section: str, record: Record, text: str, added: str) -> None:
        uri, column = ADDED_TO[section]
        parse_kata(text)
        self._writing.update_sent(self._registry.type(uri), record["id"], {column: text})
        self.granted += grants.describe(self._writing, uri, record | {column: added})

    # -- nodes of behaviors -----------------------------------------------------------------------------------------

    def _put_node(self, addition: Addition, entry: Tree) -> None:
        """Appends a node to a behavior's tree, whose nodes have no ids; or replaces the node of the last import."""
        behavior_id, parent_id = str(entry.pop("behavior_id")), str(entry.pop("parent_id"))
        id = id_in(behavior_id)
        behavior = self._writing.record("behavior", id) if id is not None else None
        if behavior is None:
            raise bad(f"behavior_id: there is no behavior '{behavior_id[:50]}'")
        if parent_id not in ("", "0"):
            raise bad("parent_id: must be 0: nodes are put at the end of a behavior, not below another node")
        uid = entry.pop("uid")
        nodes: list[Any] = list(behavior["nodes"])
        baseline = self._entries.get(uid)
        place = len(nodes) if baseline is None else self._node_place(nodes, baseline)
        if baseline is not None and baseline.is_as_sent(NODE, entry):
            changes = [] if place < len(nodes) else [{"field": uid, "state": KEPT}]
            self._record_node_changes(behavior, changes)
            self.made[uid] = baseline
            return
        state = CHANGED
        if baseline is not None and place == len(nodes):
            self._changes.clash(addition.where, NODE)
            state = self._changes.state_of_conflict
            if state == KEPT:
                self.made[uid] = Baseline(NODE_CONTEXT, 0, {NODE: digest(entry)}, baseline.stored)
                self._record_node_changes(behavior, [{"field": uid, "state": KEPT}])
                return
        nodes[place : place + 1] = [entry]
        self._writing.update("behavior", behavior["id"], {"nodes": nodes})
        after = (self._writing.record("behavior", behavior["id"]) or behavior)["nodes"]
        self.made[uid] = Baseline(NODE_CONTEXT, 0, {NODE: digest(entry)}, {NODE: digest(after[place])})
        told_log = {"target": self._writing.label("behavior", behavior["id"]), "changes": "nodes"}
        self.granted += grants.describe_record(self._writing, "behavior", behavior["id"])
        self._writing.log("behavior.changed", self._registry.type("behavior").context, behavior["id"], told_log)
        if baseline is not None:
            self._record_node_changes(behavior, [{"field": uid, "state": state}])
            return
        self.nodes[uid] = {
            "id": place + 1,
            "label": entry["title"],
            "behavior_id": behavior["id"],
            "parent_id": 0,
            "type": entry["type"],
        }

    def _node_place(self, nodes: list[Any], baseline: Baseline) -> int:
        """Returns the index of the node that the last import added; the end of the list if it was changed or removed
        since."""
        return next((place for place, each in enumerate(nodes) if baseline.is_as_stored(NODE, each)), len(nodes))

    def _record_node_changes(self, behavior: Record, changes: list[Tree]) -> None:
        label = self._writing.label("behavior", behavior["id"])
        self._changes.record(
            self._registry.type("behavior").context, f"behavior {behavior['id']}", behavior["id"], label, changes
        )

    # -- settings ---------------------------------------------------------------------------------------------------

    def put_settings(self, plugin: str, values: Any) -> None:
        """Stores settings of a plugin, by name. Settings of unknown plugins are skipped and noted."""
        if plugin in requirements.BUILT_IN:
            self._put(f"settings: {plugin}", f"plugin:{plugin}", values)
        else:
            self.notes.append(f"settings: there is no plugin '{plugin[:80]}'; its settings were left out")

    def put_preferences(self, worker_id: str, values: Any) -> None:
        """Stores preferences of a worker, by name. Preferences of unknown workers are skipped and noted."""
        id = id_in(worker_id)
        if id is not None and self._writing.record("worker", id):
            self._put(f"worker_preferences: {worker_id}", f"worker:{id}", values)
        else:
            text = f"worker_preferences: there is no worker '{worker_id[:50]}'; the preferences were left out"
            self.notes.append(text)

    def _put(self, where: str, owner: str, values: Any) -> None:
        if not isinstance(values, dict):
            if values in (None, []):
                return
            raise bad(f"{where}: must be a map")
        said: Tree = {}
        for name, value in values.items():
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                self.notes.append(f"{where}: {name[:80]} is neither text nor number and was left out")
            elif len(str(value)) > MAX_SETTING_CHARS:
                raise bad(f"{where}: {name[:80]} has more than {MAX_SETTING_CHARS} characters")
            else:
                said[name] = value
        baseline = self._entries.get(where)
        if baseline is None:
            for name, value in said.items():
                service_settings.put(self._tx, f"{owner}:{name}", value)
            self.made[where] = Baseline("", 0, digests(said), digests(said))
            return
        names = dict.fromkeys((*said, *baseline.sent))
        here = {name: service_settings.get(self._tx, f"{owner}:{name}") for name in names}
        changes, self.made[where] = merge(
            self._changes,
            "",
            where,
            baseline,
            said,
            here,
            lambda name, value: service_settings.put(self._tx, f"{owner}:{name}", value),
        )
        self._changes.record(where.partition(": ")[0], where.partition(": ")[2], 0, where, changes)


def _text_name(section: str, name: str) -> str:
    return f"{section}: {name}"
