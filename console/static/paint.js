// Colours a script behind its text: keys, annotations, templates, comments, and lines for the indents. Shows the path
// of keys at the cursor, with the meaning of the key, and an outline. The text itself does not change; one that is too
// long stays plain.
import { calmly } from "./page.js";
import { t } from "./say.js";

// Returns the keys that enclose the line of the cursor, outermost first.
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

const LONGEST = 100000; // characters
const OUTLINED = 300; // keys in an outline
const DEEPEST = 5; // last level of the outline that is indented further
const SHORT = 3; // keys; so few need no outline
const template = /(\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$))/;

function part(kind, text) {
  const found = document.createElement("span");
  found.className = kind;
  found.textContent = text;
  return found;
}

const values = (text) => text.split(template).filter(Boolean).map((each) => /^\{[{%]/.test(each) ? part("p-template", each) : each);

function painted(line, isText) {
  const row = document.createElement("div");
  const [, indent, rest] = /^(\s*)(.*)$/.exec(line);
  if (indent) row.append(part("p-indent", indent));
  const [, key, marks, colon, value] = (!isText && /^((?:[^:@]|:(?=\S))+)((?:@[\w,]*)?)(:|$)(.*)$/.exec(rest)) || [];
  if (!isText && rest.startsWith("#")) row.append(part("p-comment", rest));
  else if (key && colon) row.append(part("p-key", key), part("p-mark", marks), colon, ...values(value));
  else row.append(...values(rest));
  if (!line) row.append("\u200b"); // gives an empty line height
  return row;
}

// Returns [{line, isText}]. isText: inside a text of several lines, which has no keys.
function read(text) {
  let within = -1; // indent of the key whose text this is, or -1
  return text.split("\n").map((line) => {
    const indent = line.search(/\S/);
    if (within >= 0 && indent >= 0 && indent <= within) within = -1;
    const isText = within >= 0;
    if (!isText && /@[\w,]*\b(?:text|json|csv|list|kata)\b[\w,]*:\s*$/.test(line)) within = indent;
    return { line, isText };
  });
}

// Adds an outline of the keys with content. Its links lead to their lines, as the links of mistakes do.
function outline(box, text) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  const list = document.createElement("ul");
  summary.textContent = t("Outline");
  list.className = "plain-list";
  details.append(summary, list);
  function draw() {
    const lines = text.value.length <= LONGEST ? read(text.value) : [];
    const found = lines.flatMap(({ line, isText }, place) => {
      const [, indent, key] = (!isText && /^(\s*)([^\s#][^:@]*(?::\S[^:@]*)*)(?:@[\w,]*)?:\s*$/.exec(line)) || [];
      if (!key) return [];
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `#${text.id}`;
      link.dataset.go = place + 1;
      link.textContent = key;
      item.dataset.depth = Math.min(indent.length >> 1, DEEPEST);
      item.append(link);
      return [item];
    });
    list.replaceChildren(...found.slice(0, OUTLINED));
    details.hidden = found.length <= SHORT;
  }
  text.addEventListener("input", calmly(draw, 200));
  box.append(details);
  draw();
}

export function paint(box, text) {
  if (!text.dataset.check) return;
  const layer = document.createElement("pre");
  layer.className = "paint";
  layer.setAttribute("aria-hidden", "true");
  text.before(layer);
  const where = document.createElement("p");
  where.className = "help where";
  box.querySelector(".lined").after(where);
  let shown = [];

  function follow() {
    layer.scrollTop = text.scrollTop;
    layer.scrollLeft = text.scrollLeft;
  }
  function draw() {
    const isShort = text.value.length <= LONGEST;
    layer.hidden = !isShort;
    text.classList.toggle("painted", isShort);
    if (!isShort) return;
    const now = read(text.value);
    const same = (one, other) => one && other && one.line === other.line && one.isText === other.isText;
    let first = 0;
    let last = 0;
    while (first < now.length && same(now[first], shown[first])) first++;
    while (last < now.length - first && last < shown.length - first && same(now.at(-1 - last), shown.at(-1 - last))) last++;
    for (let gone = shown.length - first - last; gone > 0; gone--) layer.children[first].remove();
    const fresh = now.slice(first, now.length - last).map(({ line, isText }) => painted(line, isText));
    if (layer.children[first]) layer.children[first].before(...fresh);
    else layer.append(...fresh);
    shown = now;
    requestAnimationFrame(follow);
  }
  async function tell() {
    if (document.activeElement !== text) return;
    const before = text.value.slice(0, text.selectionStart);
    const start = before.lastIndexOf("\n") + 1;
    const line = text.value.slice(start).split("\n", 1)[0];
    const own = /^\s*([^\s:@#][^:@]*)/.exec(line)?.[1];
    const keys = line.trim() ? above(text.value.slice(0, start) + line) : above(before);
    const told = `Line ${before.split("\n").length}: ${[...keys, ...(own ? [own] : [])].join(":") || "the top"}`;
    where.textContent = told;
    const note = await (await import("./words.js")).meaning(box, text, keys, own);
    if (note && where.textContent === told) where.textContent = `${told} – ${note}`;
  }
  text.addEventListener("input", draw);
  text.addEventListener("scroll", follow);
  document.addEventListener("selectionchange", tell);
  outline(box, text);
  draw();
}
