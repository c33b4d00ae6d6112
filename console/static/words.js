// Completes words of scripts and policies while they are typed, from a list that a page gives as JSON.
import { t } from "./say.js";

const words = new Map(); // by address: the list, on its way or there
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

// The keys above the line of the cursor, from the top, by their indents.
export function above(before) {
  const lines = before.split("\n");
  let indent = lines.pop().search(/\S|$/);
  const found = [];
  for (const line of lines.reverse()) {
    const own = line.search(/\S/);
    if (own < 0 || own >= indent || line[own] === "#") continue;
    indent = own;
    found.unshift(line.slice(own).replace(/[@:].*$/, ""));
    if (!own) break;
  }
  return found;
}

// The record type that is said beside the keys at the end of a text, "" where none is.
function typeBeside(before) {
  const lines = before.split("\n").reverse();
  let indent = lines.shift().search(/\S|$/);
  let isOut = false; // of the fields
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

// What may stand as a key below these keys; a command is left out of them once it is entered.
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
  let within = null; // the command that the cursor is in, null for a block of commands
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

const fittingKeys = (list, text, keys) =>
  (text.name === "policy_kata" ? inPolicy : inScript)(list, keys, text.value.slice(0, text.selectionStart));

async function listOf(path) {
  if (!words.has(path)) words.set(path, fetched(path));
  const list = await words.get(path);
  if (!list) words.delete(path);
  return list;
}

// What a key below these keys means, "" where nothing is known of it.
export async function meaning(box, text, keys, own) {
  const path = box.closest("[data-words]")?.dataset.words;
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
    if (key === "record_type") return { typed: value, found: noted(Object.keys(list.fields), {}, "") };
    if (key === "type" && keys[0] === "inputs") return { typed: value, found: noted(list.inputs.texts, {}, "") };
    if (key === "uri") return { typed: value, found: noted(list.names.map((name) => `svc:automation:${name}`), {}, "") };
    return null;
  }
  if (line.slice(0, -typed.length || undefined).trim()) return null; // not at a key
  const at = typed.search(/@|,/);
  if (at >= 0) return { typed: /[^@,]*$/.exec(typed)[0], found: noted(list.annotations) };
  if (typed.includes("/")) return null; // a name of one's own
  return { typed, found: fittingKeys(list, text, above(before)) };
}

// Completion in a text below [data-words]; null elsewhere. `takes` a key that is meant for the open list.
export function complete(box, text) {
  const path = box.closest("[data-words]")?.dataset.words;
  if (!path || !text.dataset.check) return null;
  const popup = document.createElement("ul");
  const count = document.createElement("p");
  popup.className = "popup";
  popup.id = `${text.id}-words`;
  popup.setAttribute("role", "listbox");
  popup.setAttribute("aria-label", t("Words that fit"));
  popup.hidden = true;
  count.className = "unseen";
  count.setAttribute("role", "status");
  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-haspopup", "listbox");
  box.append(popup, count);
  let shown = [];
  let chosen = 0;
  let length = 0; // characters that are typed already

  function close() {
    popup.hidden = true;
    count.textContent = "";
    text.removeAttribute("aria-activedescendant");
    text.removeAttribute("aria-controls");
  }
  function choose(place) {
    chosen = (place + shown.length) % shown.length;
    [...popup.children].forEach((each, at) => each.setAttribute("aria-selected", String(at === chosen)));
    text.setAttribute("aria-activedescendant", popup.children[chosen].id);
    popup.children[chosen].scrollIntoView({ block: "nearest" });
  }
  function put() {
    const { name, end } = shown[chosen];
    const here = text.selectionStart;
    const ends = text.value.slice(here).startsWith(end) ? "" : end;
    text.setSelectionRange(here - length, here);
    close();
    document.execCommand("insertText", false, name + ends); // so that undo knows of it
    close();
  }
  function place() {
    const style = getComputedStyle(text);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const before = text.value.slice(0, text.selectionStart);
    const column = before.length - before.lastIndexOf("\n") - 1 - length;
    const line = before.split("\n").length;
    const field = box.getBoundingClientRect();
    const area = text.getBoundingClientRect();
    const left = area.left - field.left + parseFloat(style.paddingLeft) + pen.measureText("m").width * column;
    const top = area.top - field.top + parseFloat(style.paddingTop) + parseFloat(style.lineHeight) * line;
    popup.style.left = `${Math.max(0, Math.min(left - text.scrollLeft, field.width - popup.offsetWidth))}px`;
    popup.style.top = `${Math.min(top - text.scrollTop, area.bottom - field.top)}px`;
  }
  async function open(isAsked) {
    const list = await listOf(path);
    const now = list && text === document.activeElement && text.selectionStart === text.selectionEnd ? fitting(list, text) : null;
    const typed = now?.typed.toLowerCase() ?? "";
    shown = (now?.found ?? []).filter(({ name }) => name.toLowerCase().includes(typed))
      .sort((one, other) => other.name.toLowerCase().startsWith(typed) - one.name.toLowerCase().startsWith(typed)).slice(0, 50);
    if (!shown.length || (!typed && !isAsked) || (shown.length === 1 && shown[0].name === now.typed)) return close();
    length = typed.length;
    popup.replaceChildren(...shown.map(({ name, note }, at) => {
      const item = document.createElement("li");
      const code = document.createElement("code");
      item.id = `${popup.id}-${at}`;
      item.setAttribute("role", "option");
      code.textContent = name;
      item.append(code);
      if (note) {
        const told = document.createElement("span");
        told.className = "muted";
        told.textContent = note;
        item.append(" ", told);
      }
      return item;
    }));
    popup.hidden = false;
    text.setAttribute("aria-controls", popup.id);
    count.textContent = shown.length === 1 ? t("1 word fits") : t("{count} words fit", { count: shown.length });
    place();
    choose(0);
  }

  popup.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the text keeps the focus
    const item = event.target.closest("li");
    if (!item) return;
    choose([...popup.children].indexOf(item));
    put();
  });
  text.addEventListener("input", (event) => event.inputType?.startsWith("insert") || !popup.hidden ? open(false) : close());
  text.addEventListener("blur", close);
  text.addEventListener("click", close);
  text.addEventListener("scroll", () => popup.hidden || place());

  function takes(event) {
    if (event.key === " " && event.ctrlKey) {
      open(true);
    } else if (popup.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) {
      return false;
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) {
      put();
    } else if (event.key === "Escape") {
      close();
    } else {
      if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key)) close();
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
  return { takes };
}
