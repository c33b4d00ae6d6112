// Completes words of scripts, policies, bindings and toolbars while they are typed, from a list that a page returns as JSON.
import { t } from "./say.js";
import { above } from "./paint.js";
import { suggest } from "./suggest.js";

const words = new Map(); // by address: the promise of a list
const word = /[\w.@/-]*$/;

async function fetched(path) {
  try {
    const answer = await fetch(path);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

const noted = (names, notes = {}, end = ":") => names.map((name) => ({ name, note: notes[name] ?? "", end }));
const kind = (key) => key.split("/")[0];

// Returns the record_type set beside the fields at the end of a script, or "".
function typeBeside(before) {
  const lines = before.split("\n").reverse();
  let indent = lines.shift().search(/\S|$/);
  let isOut = false; // whether the loop has left the fields
  for (const line of lines) {
    const own = line.search(/\S/);
    if (own < 0 || own > indent) continue;
    if (own < indent && isOut) break;
    isOut ||= own < indent;
    indent = own;
    const type = isOut && /^\s*record_type(?:@\w+)?:\s*(\w+)/.exec(line)?.[1];
    if (type) return type.toLowerCase();
  }
  return "";
}

// Returns the words that may stand as a key below these keys.
function inScript(list, keys, before) {
  const [top, ...rest] = keys;
  if (!top) return noted(["inputs", "start"]);
  if (top === "inputs") {
    if (!rest.length) return noted(list.inputs.kinds, {}, "/");
    return rest.length === 1 ? noted(list.inputs.options) : [];
  }
  const commands = [
    ...Object.entries(list.commands).map(([name, each]) => ({ name, note: each.note, end: ":" })),
    ...Object.entries(list.flow).map(([name, each]) => ({ name, note: each.note, end: ":" })),
  ];
  let within = null; // the command around the caret; null in a block of commands
  while (rest.length) {
    const key = kind(rest.shift());
    if (within === null) {
      within = key;
      if (key === "decision" && rest.length && kind(rest[0]) === "outcome") within = kind(rest.shift());
      continue;
    }
    const command = list.commands[within];
    if (list.blocks.includes(key) && (command || list.flow[within]?.keys.includes(key))) within = null;
    else if (key === "inputs" && command && !rest.length) return noted(Object.keys(command.inputs), command.inputs);
    else if (key === "inputs" && command?.inputs.fields && rest.join() === "fields") {
      const fields = list.fields[typeBeside(before)] ?? {};
      return noted(Object.keys(fields), fields);
    }
    else return [];
  }
  if (within === null) return commands;
  const command = list.commands[within];
  if (command) return noted([...new Set([...command.keys, ...Object.keys(list.branches)])], list.branches);
  return within === "decision" ? noted(["outcome"], {}, "/") : noted(list.flow[within]?.keys ?? []);
}

function inPolicy({ policy }, keys) {
  const [top, ...rest] = keys;
  if (!top) return noted(policy.parts);
  if (top === "settings") return rest.length ? [] : noted(policy.settings);
  if (rest.length) return rest.length === 1 ? noted(["allow", "deny"], {}, "/") : [];
  return top === "commands" ? noted(policy.commands) : [];
}

// Returns the keys of bindings and toolbars, whose entries have a kind and a name.
function inEntries({ entries }, keys) {
  let within = null; // the entry around the caret
  for (const key of keys) {
    if (within === null) within = entries[kind(key)] ?? {};
    else if (key === "items" && within.items) within = null;
    else return [];
  }
  return within === null ? noted(Object.keys(entries), {}, "/") : noted(Object.keys(within), within);
}

const pathOf = (box, text) => text.dataset.words ?? box.closest("[data-words]")?.dataset.words;
const fittingKeys = (list, text, keys) =>
  (list.entries ? inEntries : text.name === "policy_kata" ? inPolicy : inScript)(list, keys, text.value.slice(0, text.selectionStart));

async function listOf(path) {
  if (!words.has(path)) words.set(path, fetched(path));
  const list = await words.get(path);
  if (!list) words.delete(path);
  return list;
}

// Returns what a key below these keys means, "" if it is unknown.
export async function meaning(box, text, keys, own) {
  const path = pathOf(box, text);
  const list = path && own ? await listOf(path) : null;
  return (list && fittingKeys(list, text, keys).find(({ name }) => name === kind(own))?.note) || "";
}

function fitting(list, text) {
  const before = text.value.slice(0, text.selectionStart);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const typed = word.exec(line)[0];
  if (/^\s*\S+:\s/.test(line)) {
    const [, key, value] = /^\s*([^@:\s]+)[^:]*:\s+(\S*)$/.exec(line) ?? [];
    const keys = above(before);
    if (key === "record_type" && list.fields) return { typed: value, found: noted(Object.keys(list.fields), {}, "") };
    if (key === "type" && keys[0] === "inputs" && list.inputs) return { typed: value, found: noted(list.inputs.texts, {}, "") };
    if (key === "uri") return { typed: value, found: noted(list.names.map((name) => `svc:automation:${name}`), {}, "") };
    return null;
  }
  if (line.slice(0, -typed.length || undefined).trim()) return null; // not at a key
  const at = typed.search(/@|,/);
  if (at >= 0) return { typed: /[^@,]*$/.exec(typed)[0], found: noted(list.annotations) };
  if (typed.includes("/")) return null; // a name that the author chooses
  return { typed, found: fittingKeys(list, text, above(before)) };
}

// Completes words in a text below [data-words]; see suggest() for the result. null elsewhere.
export function complete(box, text) {
  const path = pathOf(box, text);
  if (!path || !text.dataset.check) return null;
  return suggest(box, text, t("Matching words"), async (isAsked) => {
    const list = await listOf(path);
    const now = list && fitting(list, text);
    const isThere = now?.found.some(({ name }) => name === now.typed && now.found.filter((each) => each.name.toLowerCase().includes(now.typed.toLowerCase())).length === 1);
    return now && (now.typed || isAsked) && !isThere ? { ...now, length: now.typed.length } : null;
  });
}
