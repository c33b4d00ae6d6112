// Folds quotations of an email in its frame. No script runs in there, so the page does it from outside.
import { all } from "./page.js";
import { t } from "./say.js";

const header = /^([^\s:：][^:：]{0,24}?)\s?[:：]\s*(?=\S|$)/; // `From: Ana`
const separator = /^\s*(?:-{4,}[^-]{3,60}-{4,}|_{20,})\s*$/; // -----Original Message-----
const time = /\d{1,2}[:.h]\d{2}/;
const date = /@|\d{4}|\d{1,2}[./]\d{1,2}[./]\d{2}/;
const ends = /(?:[:：]|\s-{3,})\s*$/; // of the line above a quotation: `Ida wrote:`, `---- Ida wrote ---`
const blank = /^[\s\u00a0\u200b]*$/;
const inline = new Set("A ABBR B BDI BDO BIG CITE CODE EM FONT I KBD MARK Q S SAMP SMALL SPAN STRONG SUB SUP TIME TT U VAR WBR".split(" "));
const mostHead = 400; // characters of the line above a quotation
const mostDevice = 120; // characters of the line that a phone adds
const mostLines = 5000; // of an email

// Returns the lines of an element as people see them: [{text, node}], each with its first node.
function linesOf(body) {
  const lines = [{ text: "", node: null }];
  const end = () => lines.at(-1).text.trim() ? lines.push({ text: "", node: null }) : Object.assign(lines.at(-1), { text: "", node: null });
  const walk = (node) => {
    if (lines.length > mostLines) return;
    if (node.nodeType === Node.TEXT_NODE) {
      const line = lines.at(-1);
      if (!blank.test(node.data)) line.node ??= node;
      line.text += node.data;
    } else if (node.nodeName === "BR" || node.nodeName === "HR") end();
    else if (node.nodeType === Node.ELEMENT_NODE && !node.matches("blockquote, details, .more")) {
      const isBlock = !inline.has(node.nodeName);
      if (isBlock) end();
      for (const each of node.childNodes) walk(each);
      if (isBlock) end();
    }
  };
  walk(body);
  return lines.filter(({ node }) => node).map(({ text, node }) => ({ text: text.replace(/[\s\u00a0]+/g, " ").trim(), node }));
}

// Returns whether a line begins the headers of a quoted email, as Outlook writes them, in the languages of `words`.
function beginsMail(lines, place, words) {
  const isApart = place > 0 && separator.test(lines[place - 1].text);
  if (isApart && lines[place].text.includes("@") && words.from.has(lines[place].text.split(" ", 1)[0].toLowerCase())) return true; // eM Client
  const names = [];
  for (const { text } of lines.slice(place, place + 5)) {
    const found = header.exec(text);
    if (!found) break;
    names.push(found[1].replace(/^\*|\*$/g, "").trim().toLowerCase());
  }
  const isDatedFirst = words.sent.has(names[0]) && names.some((each) => words.from.has(each));
  if (names.length < 3 || !(words.from.has(names[0]) || isDatedFirst)) return false;
  const hasAddress = lines.slice(place, place + 3).some(({ text }) => text.includes("@"));
  return isApart || hasAddress || (names.length > 3 && words.sent.has(names[1]));
}

// Returns whether a line names the writer of an unmarked quotation below it, as Yahoo does. It must have a time, a date
// and a verb, so that no sentence of the sender is mistaken for one.
function isAttribution(text, words) {
  return text.length <= mostHead && ends.test(text) && time.test(text) && date.test(text) && text.toLowerCase().split(/[\s:：,<>]+/).some((each) => words.wrote.has(each));
}

// Returns the outermost element that begins with a node.
function outermost(node, body) {
  const isFirst = (each) => {
    for (let before = each.previousSibling; before; before = before.previousSibling) {
      if (before.nodeName === "HR" || before.nodeName === "IMG" || before.querySelector?.("img, hr") || !blank.test(before.textContent)) return false;
    }
    return true;
  };
  while (node.parentNode !== body && isFirst(node)) node = node.parentNode;
  return node;
}

function beforeBlanks(node) {
  let before = node.previousSibling;
  while (before && before.nodeName !== "HR" && !before.querySelector?.("img, hr") && before.nodeName !== "IMG" && blank.test(before.textContent)) before = before.previousSibling;
  return before;
}

function folder(page, label) {
  const [folded, name] = [page.createElement("details"), page.createElement("summary")];
  folded.className = "folded";
  name.textContent = label;
  folded.append(name);
  return folded;
}

// Returns whether a quotation follows a line at once; the line is folded with it.
function isBeforeQuote(line, next) {
  const quote = all("blockquote", line.node.ownerDocument.body).find((each) => line.node.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
  return quote && (!next || quote.compareDocumentPosition(next.node) & Node.DOCUMENT_POSITION_FOLLOWING);
}

// Folds an email quoted without marks, from its headers, as Outlook writes them, or its attribution to the end.
function foldHistory(body, words) {
  const lines = linesOf(body);
  let place = lines.findIndex((line, at) => at > 0 && (beginsMail(lines, at, words)
    || (at + 1 < lines.length && isAttribution(line.text, words) && !isBeforeQuote(line, lines[at + 1]))));
  if (place > 1 && separator.test(lines[place - 1].text)) place -= 1;
  if (place < 1) return;
  let start = outermost(lines[place].node, body);
  const before = beforeBlanks(start);
  if (before?.nodeName === "HR") start = before;
  const range = body.ownerDocument.createRange();
  range.setStartBefore(start);
  range.setEnd(body, body.childNodes.length);
  const history = range.extractContents();
  const folded = folder(body.ownerDocument, t("Quoted text"));
  folded.append(history);
  trim(body);
  body.append(folded);
}

// Returns the nodes of the line above a quotation that names its writer: `On Monday Ida wrote:`.
function attribution(quote, body) {
  let node = quote;
  let before = beforeBlanks(node);
  for (let level = 0; !before && level < 2 && node.parentNode !== body; level++) {
    node = node.parentNode;
    before = beforeBlanks(node);
  }
  const nodes = [];
  let text = "";
  while (before && before.nodeName !== "BR" && before.nodeName !== "HR" && before.nodeName !== "DETAILS") {
    const isBlock = before.nodeType === Node.ELEMENT_NODE && !inline.has(before.nodeName);
    if (isBlock && (nodes.length || linesOf(before).length > 1)) break;
    nodes.unshift(before);
    text = before.textContent + text;
    if (isBlock) break;
    before = before.previousSibling;
  }
  const isOne = ends.test(text) && text.trim().length <= mostHead && !nodes.some((each) => each.querySelector?.("blockquote, details, img, table"));
  return isOne ? nodes : [];
}

// Joins quotations with nothing between them, such as an attribution quoted by itself.
function joinQuotes(body) {
  for (const folded of all("details", body)) {
    const before = beforeBlanks(folded);
    const earlier = before?.nodeName === "DETAILS" ? before : before?.querySelector?.(":scope > details:last-of-type");
    if (!earlier || (earlier !== before && [...before.childNodes].some((each) => each !== earlier && !blank.test(each.textContent)))) continue;
    folded.querySelector("summary").remove();
    earlier.append(...folded.childNodes);
    folded.remove();
  }
}

// Folds the quotations of an element.
export function foldQuotes(body) {
  for (const quote of all("blockquote:not(blockquote blockquote)", body)) {
    if (quote.closest("details") && body.contains(quote.closest("details"))) continue;
    const folded = folder(body.ownerDocument, t("Quoted text"));
    const head = attribution(quote, body);
    const line = head.length ? beforeBlanks(head[0]) : null;
    if (line && separator.test(line.textContent) && !line.querySelector?.("blockquote, details, img, table")) head.unshift(line);
    quote.replaceWith(folded);
    folded.append(...head, quote);
  }
  joinQuotes(body);
}

// Removes blank lines at the end, which programs leave and which only make the frame taller.
function trim(box) {
  for (let last = box.lastChild; last; last = box.lastChild) {
    const isBlank = last.nodeName === "BR" || (last.nodeName !== "DETAILS" && blank.test(last.textContent) && !/^(IMG|HR|TABLE)$/.test(last.nodeName) && !last.querySelector?.("img, hr, table, details"));
    if (!isBlank) break;
    last.remove();
  }
  const last = box.lastElementChild;
  if (!last || last !== box.lastChild || inline.has(last.nodeName)) return;
  last.style.marginBottom = "0";
  if (/^(DIV|P|CENTER)$/.test(last.nodeName)) trim(last);
}

// Folds a signature: from two dashes to the next quotation or the end, or the last line if a phone added it.
function foldSignature(body) {
  const lines = linesOf(body);
  const last = lines.length - 1;
  const device = new RegExp(`^(?:${body.dataset.device})`, "i");
  let place = lines.findIndex(({ text }, at) => at > 0 && text === "--");
  if (place < 0 && last > 0 && body.dataset.device && lines[last].text.length <= mostDevice && device.test(lines[last].text)) place = last;
  if (place < 0) return;
  const start = outermost(lines[place].node, body);
  const below = all("details", body).find((each) => start.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
  const range = body.ownerDocument.createRange();
  range.setStartBefore(start);
  if (below) range.setEndBefore(below);
  else range.setEnd(body, body.childNodes.length);
  const folded = folder(body.ownerDocument, t("Signature"));
  folded.append(range.extractContents());
  range.insertNode(folded);
}

// Removes blank lines between the text and a fold below it.
function trimAbove(folded, body) {
  let above = null;
  for (let node = folded; !above && node !== body; node = node.parentNode) {
    above = beforeBlanks(node);
    while (node.previousSibling !== above) node.previousSibling.remove();
  }
  if (/^(DIV|P|CENTER|SPAN)$/.test(above?.nodeName)) trim(above);
}

function trimStart(box) {
  for (let first = box.firstChild; first && first.nodeName !== "DETAILS"; first = box.firstChild) {
    const isBlank = first.nodeName === "BR" || (blank.test(first.textContent) && !/^(IMG|HR|TABLE)$/.test(first.nodeName) && !first.querySelector?.("img, hr, table, details"));
    if (!isBlank) break;
    first.remove();
  }
  const first = box.firstElementChild;
  if (!first || first !== box.firstChild || inline.has(first.nodeName)) return;
  first.style.marginTop = "0";
  if (/^(DIV|P|CENTER)$/.test(first.nodeName)) trimStart(first);
}

// Hides files that the email itself shows from the list below it.
function listOnce(frame) {
  const shown = new Set(all("img[src]", frame.contentDocument).map((each) => /\/files\/(\d+)/.exec(each.getAttribute("src"))?.[1]));
  for (const item of all("[data-file]", frame.closest("article") ?? document.createElement("p"))) item.hidden = shown.has(item.dataset.file);
}

// Tidies the email in a frame.
export function tidy(frame) {
  const body = frame.contentDocument.body;
  const words = Object.fromEntries(["from", "sent", "wrote"].map((name) => [name, new Set(body.dataset[name]?.split(" "))]));
  foldHistory(body, words);
  foldQuotes(body);
  foldSignature(body);
  const folded = body.lastElementChild;
  for (const each of all("details", body)) trimAbove(each, body);
  trim(body);
  trimStart(body);
  if (folded?.nodeName === "DETAILS") folded.style.marginBottom = "0";
  listOnce(frame);
}
