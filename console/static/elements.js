// Turns blocks into elements of rich text, and elements of the editor or the clipboard into blocks. Pasted elements
// that our Markdown lacks become something that it has.
import { all } from "./page.js";
import { t } from "./say.js";

const STRONG = new Set(["B", "STRONG", "H1", "H2", "H3", "H4", "H5", "H6"]);
const EM = new Set(["I", "EM", "CITE", "VAR", "DFN"]);
const CODE = new Set(["CODE", "TT", "KBD", "SAMP"]);
const LEFT_OUT = new Set("HEAD STYLE SCRIPT TITLE META LINK NOSCRIPT TEMPLATE SVG IFRAME OBJECT BUTTON SELECT INPUT TEXTAREA HR".split(" "));
const BLOCKS = new Set("P DIV SECTION ARTICLE HEADER FOOTER MAIN ASIDE NAV ADDRESS CENTER FIGURE FIGCAPTION DL DT DD FORM FIELDSET H1 H2 H3 H4 H5 H6 TR LI BODY".split(" "));
const LEVELS = { H1: 2, H2: 2, H3: 3, H4: 3, H5: 3, H6: 3 }; // of headings, where allowed
const own = /\/files\/(\d+)(?:[/?].*)?$/;
const made = (name, values = {}, data = {}) => {
  const element = Object.assign(document.createElement(name), values);
  Object.assign(element.dataset, data);
  return element;
};

// -- to elements ------------------------------------------------------------------------------------------------------

function lineOf(runs, open = []) {
  const nodes = [];
  for (let at = 0; at < runs.length;) {
    const run = runs[at];
    const left = run.marks.filter((each) => !open.includes(each));
    if (!left.length) {
      nodes.push(leafOf(run));
      at += 1;
      continue;
    }
    const ends = left.map((each) => runs.findIndex((other, place) => place > at && !other.marks.includes(each))).map((end) => end < 0 ? runs.length : end);
    const most = Math.max(...ends);
    const outer = left[ends.indexOf(most)];
    const element = outer.startsWith("a:") ? made("a", { href: outer.slice(2) }, run.isAuto ? { auto: "" } : {}) : made(outer === "em" ? "em" : "strong");
    element.append(...lineOf(runs.slice(at, most), [...open, outer]));
    nodes.push(element);
    at = most;
  }
  return nodes;
}

function leafOf(run) {
  if (run.isBreak) return made("br");
  if (run.code !== undefined) return made("code", { textContent: run.code });
  if (!run.src) return document.createTextNode(run.text);
  const file = own.exec(run.src);
  // An external picture is not loaded: its description is shown.
  return made("img", { alt: run.alt || t("Picture"), ...(file ? { src: `/files/${file[1]}` } : {}) }, { src: run.src, alt: run.alt });
}

const filled = (element, nodes) => (element.append(...(nodes.length ? nodes : [made("br")])), element);

const MAKERS = {
  p: ({ runs }) => filled(made("p"), lineOf([...runs, ...(runs.at(-1)?.isBreak ? [runs.at(-1)] : [])])),
  list({ isOrdered, start, mark, items }) {
    const list = made(isOrdered ? "ol" : "ul", isOrdered ? { start } : {}, { mark });
    list.append(...items.map((blocks) => {
      const [first, ...more] = blocks;
      const isLine = first?.type === "p";
      return filled(made("li"), [...(isLine ? lineOf(first.runs) : []), ...(isLine ? more : blocks).map(toElement)]);
    }));
    return list;
  },
  quote: ({ blocks }) => filled(made("blockquote"), blocks.map(toElement)),
  heading: ({ level, runs }) => filled(made(`h${level}`), lineOf(runs)),
  code: ({ text, info = "" }) => made("pre", { textContent: `${text}\n` }, { info }),
  table({ rows, rule }) {
    const table = made("table", {}, rule ? { rule } : {});
    const width = Math.max(...rows.map((row) => row.length));
    for (const [at, row] of rows.entries()) {
      const line = table.insertRow();
      for (let place = 0; place < width; place++) line.append(filled(made(at ? "td" : "th"), lineOf(row[place] ?? [])));
    }
    return table;
  },
};

function toElement(block) {
  const element = MAKERS[block.type](block);
  if (block.isTight) element.dataset.tight = "";
  return element;
}
export const toElements = (blocks) => blocks.map(toElement);

// -- to blocks --------------------------------------------------------------------------------------------------------

function marksOf(element, marks) {
  const name = element.nodeName;
  const more = [];
  const style = element.dataset?.style ?? "";
  const [weight, slant] = [/font-weight:\s*(\w+)/, /font-style:\s*(\w+)/].map((property) => property.exec(style)?.[1] ?? "");
  if ((STRONG.has(name) && !/normal|[1-4]00/.test(weight)) || /bold|[6-9]00/.test(weight)) more.push("strong");
  if ((EM.has(name) && slant !== "normal") || /italic|oblique/.test(slant)) more.push("em");
  const address = name === "A" && element.getAttribute("href")?.trim();
  if (/^(https?:\/\/|mailto:)[^\s<>()]+$/i.test(address || "") && !marks.some((each) => each.startsWith("a:"))) more.push(`a:${address}`);
  return [...marks, ...more.filter((each) => !marks.includes(each))];
}

// isPasted: from elsewhere, where blanks collapse. Without hasHeadings, headings become bold lines.
export function toBlocks(root, isPasted = false, hasHeadings = false) {
  const blocks = [];
  let runs = null;

  function end() {
    if (!runs) return;
    while (runs.length && isPasted && runs[0].text !== undefined && !runs[0].text.trim()) runs.shift();
    if (runs.at(-1)?.isBreak) runs.pop(); // browsers do not show the last one
    if (isPasted && runs.length && runs[0].text) runs[0].text = runs[0].text.trimStart();
    if (runs.length || !isPasted) blocks.push({ type: "p", runs });
    runs = null;
  }
  const push = (run) => (runs ??= []).push(run);

  function block(element, marks) {
    end();
    const count = blocks.length;
    inside(element, marks);
    if (runs) end();
    else if (blocks.length === count && !isPasted) blocks.push({ type: "p", runs: [] });
    tighten(element, count);
  }
  // Marks the paragraph after a heading if its Markdown had no blank line between them.
  function tighten(element, count) {
    if ("tight" in (element.dataset ?? {}) && blocks[count - 1]?.type === "heading" && blocks[count]) blocks[count].isTight = true;
  }
  function heading(element) {
    end();
    const count = blocks.length;
    inside(element, []);
    end();
    const line = blocks.splice(count).flatMap((each) => each.runs ?? []);
    if (line.length) blocks.push({ type: "heading", level: LEVELS[element.nodeName], runs: line, isTight: isTight(element) });
    else if (!isPasted) blocks.push({ type: "p", runs: [] });
  }
  const isTight = (element) => "tight" in element.dataset && (blocks.at(-1)?.type === "heading" || blocks.at(-1)?.runs?.length > 0);
  function inside(element, marks) {
    for (const each of element.childNodes) visit(each, marks);
  }
  function add(element, found) {
    end();
    blocks.push({ ...found, isTight: isTight(element) });
  }
  function visit(node, marks) {
    const name = node.nodeName;
    if (node.nodeType === Node.TEXT_NODE) {
      if (isPasted) (runs || node.data.trim()) && push({ text: node.data.replace(/[\s\u00a0]+/g, " "), marks });
      else node.data.split("\n").forEach((text, at) => (at && push({ isBreak: true, marks }), text && push({ text, marks })));
    } else if (node.nodeType !== Node.ELEMENT_NODE || LEFT_OUT.has(name.toUpperCase()) || /display:\s*none/.test(node.dataset?.style)) return;
    else if (name === "BR") push({ isBreak: true, marks });
    else if (name === "IMG") {
      const src = node.dataset.src ?? node.getAttribute("src") ?? "";
      const alt = (node.dataset.alt ?? node.alt).replace(/\s+/g, " ");
      if (node.dataset.src || (isPasted && own.test(src) && src.startsWith(location.origin))) push({ src: node.dataset.src ?? src, alt, marks });
      else if (isPasted && alt) push({ text: alt, marks });
    } else if (CODE.has(name) && !node.querySelector("pre, table, ul, ol, blockquote")) {
      const code = node.textContent.replace(isPasted ? /[\s\u00a0]+/g : /\n/g, " ");
      if (code.trim()) push({ code, marks: marksOf(node, marks) });
    } else if (name === "UL" || name === "OL") add(node, listOf(node));
    else if (name === "BLOCKQUOTE") add(node, { type: "quote", blocks: toBlocks(node, isPasted) });
    else if (name === "PRE") {
      for (const each of all("br", node)) each.replaceWith("\n");
      add(node, { type: "code", text: node.textContent.replace(/\n$/, ""), info: node.dataset.info ?? "" });
    } else if (name === "TABLE") table(node, marks);
    else if (hasHeadings && LEVELS[name]) heading(node);
    else if (BLOCKS.has(name)) block(node, marksOf(node, marks));
    else {
      const before = runs?.length ?? 0;
      inside(node, marksOf(node, marks));
      if ("auto" in (node.dataset ?? {}) && runs?.length === before + 1 && runs.at(-1).text === node.getAttribute("href")) runs.at(-1).isAuto = true;
    }
  }
  function table(element, marks) {
    const rows = [...element.rows];
    if (Math.max(0, ...rows.map((row) => row.cells.length)) < 2) return rows.forEach((row) => [...row.cells].forEach((cell) => block(cell, marks)));
    const cell = (each) => toBlocks(each, true).flatMap((part) => [...(part.runs ?? [{ text: each.innerText ?? each.textContent, marks: [] }]), { text: " ", marks: [] }]);
    add(element, { type: "table", rule: element.dataset.rule, rows: rows.map((row) => [...row.cells].map(isPasted ? cell : (each) => toBlocks(each)[0]?.runs ?? [])) });
  }
  function listOf(list) {
    const items = [];
    for (const each of list.children) {
      const found = toBlocks(each.nodeName === "LI" ? each : wrapped(each), isPasted);
      const parts = [];
      for (const part of found) {
        const last = parts.at(-1);
        if (part.type === "p" && last?.type === "p") last.runs = [...last.runs, { isBreak: true, marks: [] }, ...part.runs];
        else parts.push(part);
      }
      if (each.nodeName !== "LI" && items.length) items.at(-1).push(...parts); // browsers put a list directly into its parent list
      else if (parts.some((part) => part.type !== "p" || part.runs.length)) items.push(parts);
    }
    const isOrdered = list.nodeName === "OL";
    return { type: "list", isOrdered, start: isOrdered ? list.start : 1, mark: list.dataset.mark ?? (isOrdered ? "." : "-"), items };
  }
  const wrapped = (element) => {
    const box = document.createElement("div");
    box.append(element.cloneNode(true));
    return box;
  };
  inside(root, []);
  end();
  return blocks;
}
