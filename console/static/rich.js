// Edits the message of a form as rich text. The box with its Markdown stays in the form and is stored and sent; each
// change of the rich text is written into it.
import { toBlocks, toElements } from "./elements.js";
import { fromMarkdown, isRich, toMarkdown } from "./markdown.js";
import { all, say } from "./page.js";
import { bodyOf, cellsOf, readClipboard } from "./pasting.js";
import { t } from "./say.js";
import { history } from "./undoing.js";

const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("rich.css", import.meta.url) });
document.head.append(style);

const LINES = "p, li, pre, td, th, h2, h3"; // elements that hold a line
const HEADINGS = "h2, h3";
const LISTS = "ul, ol";
const made = (name, nodes = [], values = {}) => {
  const element = Object.assign(document.createElement(name), values);
  element.append(...nodes);
  return element;
};
const hasWords = (element) => Boolean(element.textContent.trim() || element.querySelector("img"));
const paragraph = (nodes = []) => made("p", nodes.length ? nodes : [made("br")]);
const unwrap = (element) => element.replaceWith(...element.childNodes);

// changed() is called after a change; attach(files, isInline) uploads files. hasHeadings: whether headings are allowed.
// text: the box with the Markdown.
export function enrich(form, changed, attach, { hasHeadings = false, text = form.elements.content } = {}) {
  if (text.required) {
    text.required = false; // a browser cannot show an error at a hidden box
    form.addEventListener("submit", (event) => {
      if (text.value.trim()) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      say(t("Write a note first."));
      (editor.hidden ? text : editor).focus();
    }, true);
  }
  const told = form.querySelector("[data-plain]");
  const editor = made("div", [], { className: "rich", contentEditable: "true", role: "textbox", ariaMultiLine: "true", dir: "auto", id: `${text.id}-rich`, ariaLabel: text.labels[0].textContent.trim() });
  if (text.dataset.typing) editor.dataset.typing = text.dataset.typing;
  for (const name of ["aria-describedby", "aria-invalid"]) if (text.hasAttribute(name)) editor.setAttribute(name, text.getAttribute(name));
  text.after(editor);
  let isComposing = false;
  let place = null; // last range in the editor, for insertions from outside
  const past = history(editor);
  const run = (command, value) => document.execCommand(command, false, value);

  const show = () => editor.replaceChildren(...toElements(fromMarkdown(text.value, hasHeadings)));
  const store = () => (text.value = toMarkdown(toBlocks(editor, false, hasHeadings)));
  function edited() {
    tidy();
    store();
    changed();
    form.dispatchEvent(new Event("change"));
  }

  // -- selection ------------------------------------------------------------------------------------------------------

  function range() {
    const selection = getSelection();
    return selection.rangeCount && editor.contains(selection.anchorNode) && editor.contains(selection.focusNode) ? selection.getRangeAt(0) : null;
  }
  const select = (now) => getSelection().setBaseAndExtent(now.startContainer, now.startOffset, now.endContainer, now.endOffset);
  function caret(node, at = 0) {
    getSelection().collapse(node, at);
  }
  function enter() {
    const last = document.activeElement === editor ? range() : place;
    editor.focus({ preventScroll: true });
    if (last && editor.contains(last.startContainer)) select(last);
    if (!range()) caret(editor.lastElementChild ?? editor);
    return range();
  }
  function closest(node, selector) {
    const found = (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest(selector);
    return found && found !== editor && editor.contains(found) ? found : null;
  }
  const within = (selector) => range() && closest(range().commonAncestorContainer, selector);
  // Returns the lines whose own words a range touches.
  function lines(now) {
    const first = closest(now.startContainer, LINES);
    return all(LINES, editor).filter((line) => line === first || [...line.childNodes].some((each) => !each.matches?.(LISTS) && now.intersectsNode(each)));
  }
  // Creates the successor of an element, with its nodes.
  const successors = new Map();
  function successor(name, element, nodes = [...element.childNodes]) {
    const next = made(name, nodes);
    successors.set(element, next);
    return next;
  }
  // Runs work(range), and restores the selection unless work() returns true because it has set one.
  function change(work) {
    const now = enter();
    past.record();
    successors.clear();
    const ends = [now.startContainer, now.startOffset, now.endContainer, now.endOffset];
    const isSet = work(now);
    const [from, to] = [ends[0], ends[2]].map((each) => successors.get(each) ?? each);
    if (!isSet && from.isConnected && to.isConnected) getSelection().setBaseAndExtent(from, ends[1], to, ends[3]);
    edited();
  }

  // Cleans up after browsers, which put text outside paragraphs and wrap it in styles of old text.
  function tidy() {
    const now = range();
    const ends = now && [now.startContainer, now.startOffset, now.endContainer, now.endOffset];
    let isTidied = false;
    for (const each of all("font, span, div, p p, :is(h2, h3) p, :is(li, blockquote, td, th) :is(h2, h3)", editor)) {
      if (each.matches("font, span")) unwrap(each);
      else if (each.matches("div") || (each.matches(HEADINGS) && each.closest("blockquote") && !each.closest("li, td, th"))) each.replaceWith(paragraph([...each.childNodes]));
      else unwrap(each);
      isTidied = true;
    }
    for (const box of [editor, ...all("blockquote", editor)]) {
      let line = null;
      for (const each of [...box.childNodes]) {
        if (each.matches?.("p, ul, ol, blockquote, pre, table, h2, h3")) line = null;
        else {
          if (!line) each.before((line = made("p")));
          line.append(each);
          isTidied = true;
        }
      }
    }
    if (!editor.firstChild) {
      editor.append(paragraph());
      caret(editor.firstChild);
    } else if (isTidied && ends && ends[0].isConnected && ends[2].isConnected) getSelection().setBaseAndExtent(...ends);
  }

  // Acts as a box for suggestions, with the text node at the caret.
  const node = () => (range()?.startContainer.nodeType === Node.TEXT_NODE ? range().startContainer : null);
  Object.defineProperties(editor, {
    form: { value: form },
    value: { get: () => node()?.data ?? "" },
    selectionStart: { get: () => (node() ? range().startOffset : 0) },
    selectionEnd: { get: () => (range()?.collapsed ? editor.selectionStart : -1) },
    setSelectionRange: { value: (from, to) => node() && getSelection().setBaseAndExtent(node(), from, node(), to) },
    spot: {
      value(at) {
        const [mark, area] = [document.createRange(), editor.getBoundingClientRect()];
        mark.setStart(node() ?? editor, at);
        const { left, bottom } = mark.getBoundingClientRect();
        return { left: left - area.left, top: bottom - area.top };
      },
    },
    insert: { value: put },
  });

  // -- insertion ------------------------------------------------------------------------------------------------------

  function putBlocks(blocks) {
    const now = enter();
    past.record();
    if (!now.collapsed) run("delete");
    const at = range();
    const nodes = toElements(blocks);
    const line = closest(at.startContainer, LINES);
    const isWords = blocks.every((each) => each.type === "p");
    if (blocks.length === 1 && isWords) putWords(at, [...nodes[0].childNodes].filter((each, place, own) => place < own.length - 1 || each.nodeName !== "BR"));
    else if (isWords && line?.matches("li, td, th")) putWords(at, nodes.flatMap((each, place) => [...(place ? [made("br")] : []), ...each.childNodes]));
    else if (nodes.length) putBetween(at, line, nodes);
    edited();
  }
  function putWords(at, nodes) {
    if (!nodes.length) return;
    const line = closest(at.startContainer, LINES);
    if (line && !hasWords(line)) all(":scope > br", line).forEach((each) => each.remove());
    const last = nodes.at(-1);
    const part = document.createDocumentFragment();
    part.append(...nodes);
    at.insertNode(part);
    if (last.nodeType === Node.TEXT_NODE) caret(last, last.data.length);
    else {
      at.setStartAfter(last);
      at.collapse(true);
      select(at);
    }
  }
  // Inserts blocks between the text before and after the caret.
  function putBetween(at, line, nodes) {
    const outer = line?.matches("p") ? line : [...editor.children].find((each) => each.contains(at.startContainer)) ?? editor.lastElementChild;
    const rest = document.createRange();
    let behind = paragraph();
    if (outer === line) {
      rest.selectNodeContents(line);
      rest.setStart(at.startContainer, at.startOffset);
      const cut = rest.extractContents();
      if (cut.textContent.trim() || cut.querySelector("img")) behind = made("p", [cut]);
    }
    outer.after(...nodes, behind);
    if (outer === line && !hasWords(line)) line.remove();
    const last = nodes.at(-1);
    if (!hasWords(behind) && last.matches("p")) {
      behind.remove();
      const words = document.createRange();
      words.selectNodeContents(last);
      words.collapse(false);
      select(words);
    } else caret(behind);
  }
  const PLACE = "\ue000"; // where Markdown goes that rich text cannot show; the message is then Markdown
  function put(markdown) {
    if (isRich(markdown, hasHeadings)) return putBlocks(fromMarkdown(markdown, hasHeadings));
    putBlocks([{ type: "p", runs: [{ text: PLACE, marks: [] }] }]);
    const at = text.value.indexOf(PLACE);
    text.value = text.value.replace(PLACE, () => markdown);
    choose(true);
    text.focus();
    text.setSelectionRange(at + markdown.length, at + markdown.length);
    changed();
  }
  const literal = (plain) => plain.replace(/\r\n?/g, "\n").split(/\n{2,}/).map((part) => ({
    type: "p",
    runs: part.split("\n").flatMap((line, at) => [...(at ? [{ isBreak: true, marks: [] }] : []), ...(line ? [{ text: line, marks: [] }] : [])]),
  }));
  function takeIn(clipboard, isPlain) {
    const { files, rows, html, plain } = readClipboard(clipboard, isPlain);
    if (files) attach(files, true);
    else if (within("pre")) {
      past.record();
      run("insertText", plain);
    } else if (html) putBlocks(toBlocks(bodyOf(html), true, hasHeadings));
    else putBlocks(rows ? [{ type: "table", rows: cellsOf(rows) }] : literal(plain));
  }
  let isPlain = false;
  editor.addEventListener("paste", (event) => {
    event.preventDefault();
    takeIn(event.clipboardData, isPlain);
  });
  editor.addEventListener("drop", (event) => {
    const at = document.caretPositionFromPoint?.(event.clientX, event.clientY);
    if (event.dataTransfer.files.length && at) caret(at.offsetNode, at.offset);
  });
  editor.addEventListener("beforeinput", (event) => {
    const { inputType, dataTransfer } = event;
    if (inputType === "historyUndo" || inputType === "historyRedo") goBack(event, inputType === "historyRedo");
    else if (inputType === "insertFromDrop" && dataTransfer) (event.preventDefault(), takeIn(dataTransfer));
    else if (/^format(?!Bold|Italic)/.test(inputType)) event.preventDefault();
    else if (!event.isComposing) past.record(inputType, event.data);
  });
  editor.addEventListener("compositionstart", () => {
    isComposing = true;
    past.record();
  });
  editor.addEventListener("compositionend", () => {
    isComposing = false;
    store();
  });
  editor.addEventListener("input", () => {
    if (isComposing) return;
    tidy();
    store();
  });
  text.addEventListener("replaced", () => {
    if (editor.hidden) return;
    past.record();
    choose(true);
  });
  function goBack(event, isForth) {
    event.preventDefault();
    if (past.go(isForth)) edited();
  }

  // -- formatting -----------------------------------------------------------------------------------------------------

  // Turns lines outside of other blocks into headings, or back into paragraphs if all have that level.
  function toHeading(now, name) {
    const chosen = lines(now).filter((each) => each.matches("p, h2, h3") && each.parentElement === editor);
    const isBack = chosen.every((each) => each.matches(name));
    for (const each of chosen) each.replaceWith(successor(isBack ? "p" : name, each));
  }
  function toList(now, name) {
    const chosen = lines(now).filter((each) => each.matches("p, li, h2, h3"));
    const lists = new Set(chosen.map((each) => each.closest("li") && each.parentElement));
    if (chosen.length && chosen.every((each) => each.matches("li") && each.parentElement.matches(name))) return chosen.forEach(leaveList);
    for (const list of lists) if (list) list.replaceWith(successor(name, list));
    let list = null;
    for (const each of chosen.filter((line) => line.matches("p, h2, h3") && !line.closest("li"))) {
      const item = successor("li", each);
      if (list && list.nextSibling === each) list.append(item);
      else each.before((list = made(name, [item])));
      each.remove();
    }
  }
  function leaveList(item) {
    const list = item.parentElement;
    const behind = list.cloneNode();
    behind.removeAttribute("start");
    while (item.nextSibling) behind.append(item.nextSibling);
    const parts = [...item.childNodes];
    const inner = parts.filter((each) => each.matches?.(LISTS));
    list.after(successor("p", item, parts.filter((each) => !inner.includes(each))), ...inner, ...(behind.firstChild ? [behind] : []));
    item.remove();
    if (!list.firstChild) list.remove();
  }
  function toQuote(now) {
    const quote = closest(now.commonAncestorContainer, "blockquote");
    if (quote) return (unwrap(quote), false);
    const touched = [...editor.children].filter((each) => now.intersectsNode(each));
    const box = made("blockquote");
    touched[0]?.before(box);
    for (const each of touched) {
      box.append(each.matches(HEADINGS) ? successor("p", each) : each);
      if (each.matches(HEADINGS)) each.remove();
    }
    if (!box.nextSibling) box.after(paragraph());
    return false;
  }
  function toCode(now) {
    const [inline, block] = [closest(now.commonAncestorContainer, "code"), closest(now.commonAncestorContainer, "pre")];
    const touched = lines(now).filter((each) => each.matches("p"));
    if (inline) unwrap(inline);
    else if (block) block.replaceWith(...block.textContent.replace(/\n$/, "").split("\n").map((line) => paragraph(line ? [line] : [])));
    else if (!now.collapsed && touched.length < 2) {
      const code = made("code", [String(now)]);
      now.deleteContents();
      now.insertNode(code);
      if (!code.nextSibling?.textContent) code.after(" "); // leads out of the code
      getSelection().selectAllChildren(code);
      return true;
    } else if (touched.length) {
      const pre = made("pre", [`${touched.map((each) => each.innerText.replace(/\n$/, "")).join("\n")}\n`]);
      touched[0].before(pre);
      touched.forEach((each) => each.remove());
      if (!pre.nextSibling) pre.after(paragraph());
      caret(pre.firstChild, pre.firstChild.length - 1);
      return true;
    }
    return false;
  }
  const ACTS = {
    "> ": toQuote,
    "- ": (now) => toList(now, "ul"),
    "1. ": (now) => toList(now, "ol"),
    "## ": (now) => toHeading(now, "h2"),
    "### ": (now) => toHeading(now, "h3"),
  };
  const line = (sign) => change((now) => ACTS[sign](now));
  function wrap(sign) {
    if (sign === "`") return change(toCode);
    enter();
    past.record();
    run(sign === "**" ? "bold" : "italic");
    edited();
  }

  // -- links ----------------------------------------------------------------------------------------------------------

  const address = made("input", [], { type: "url", ariaLabel: t("Address of the link"), placeholder: "https://" });
  const [set, unset] = [t("Set link"), t("Remove link")].map((name) => made("button", [name], { type: "button", className: "small" }));
  const links = made("p", [address, set, unset], { className: "rich-link row", hidden: true });
  editor.before(links);
  const webAddress = /^(https?:\/\/|mailto:)[^\s<>()]+$/i;
  function link() {
    enter();
    const now = within("a");
    if (now) getSelection().selectAllChildren(now);
    place = range().cloneRange();
    links.hidden = false;
    unset.hidden = !now;
    address.value = now?.getAttribute("href") ?? (webAddress.test(String(place)) ? String(place) : "");
    address.focus();
  }
  function close() {
    links.hidden = true;
    enter();
  }
  function finish(value) {
    close();
    change((now) => {
      const old = within("a");
      if (old && !value) unwrap(old);
      else if (old) Object.assign(old, { href: value }).removeAttribute("data-auto");
      else if (value) {
        const isEmpty = now.collapsed;
        const element = made("a", isEmpty ? [value] : [now.extractContents()], { href: value });
        if (isEmpty) element.dataset.auto = "";
        all("a", element).forEach(unwrap);
        now.insertNode(element);
        now.setStartAfter(element);
        now.collapse(true);
        if (!element.nextSibling?.textContent) (element.after(" "), now.setStart(element.nextSibling, 1));
        select(now);
        return true;
      }
      return false;
    });
  }
  function done() {
    const typed = address.value.trim();
    const value = typed && !/^[a-z][a-z0-9+.-]*:/i.test(typed) ? (/^\S+@\S+$/.test(typed) ? `mailto:${typed}` : `https://${typed}`) : typed;
    if (value && !webAddress.test(value)) return address.select();
    finish(value);
  }
  set.addEventListener("click", done);
  unset.addEventListener("click", () => finish(""));
  for (const name of ["input", "change"]) links.addEventListener(name, (event) => event.stopPropagation());
  links.addEventListener("keydown", (event) => {
    const act = event.key === "Escape" ? close : event.key === "Enter" && event.target === address && !event.ctrlKey && !event.metaKey ? done : null;
    if (act) (event.preventDefault(), event.stopPropagation(), act());
  });

  // -- keys -----------------------------------------------------------------------------------------------------------

  editor.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const key = event.key.toLowerCase();
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey;
    isPlain = isCommand && event.shiftKey && key === "v";
    const level = hasHeadings && (event.ctrlKey || event.metaKey) && event.altKey && !event.getModifierState("AltGraph") && { Digit2: "## ", Digit3: "### " }[event.code];
    if (level) {
      event.preventDefault();
      return line(level);
    }
    if (isCommand && (key === "z" || (key === "y" && !event.shiftKey))) goBack(event, key === "y" || event.shiftKey);
    else if (isCommand && !event.shiftKey) {
      const act = { b: () => wrap("**"), i: () => wrap("*"), k: link }[key];
      if (act) (event.preventDefault(), event.stopPropagation(), act());
    } else if (event.key === "Enter" && !isCommand && !event.shiftKey) breakLine(event);
    else if (event.key === "Backspace" && !isCommand) leaveHeading(event);
    else if (event.key === " ") begin(event);
  });
  // Applies a sign of Markdown that was typed as the first word of a line.
  function begin(event) {
    const own = within("p");
    const signs = { "-": "- ", "*": "- ", "1.": "1. ", ">": "> ", ...(hasHeadings ? { "##": "## ", "###": "### " } : {}) };
    const sign = signs[own?.textContent];
    if (!sign || own.closest("li, blockquote") || !range().collapsed) return;
    event.preventDefault();
    past.record();
    own.replaceChildren(made("br"));
    caret(own);
    line(sign);
  }
  // Turns a heading into a paragraph on Backspace at its beginning.
  function leaveHeading(event) {
    const [now, own] = [range(), within(HEADINGS)];
    if (!own || !now.collapsed) return;
    const before = document.createRange();
    before.selectNodeContents(own);
    before.setEnd(now.startContainer, now.startOffset);
    if (String(before) || before.cloneContents().querySelector("img, br")) return;
    event.preventDefault();
    change(() => own.replaceWith(successor("p", own)));
  }
  // Breaks lines on Enter in a cell or in code; on an empty line, leaves code or a quotation.
  function breakLine(event) {
    const now = range();
    const [pre, own] = [within("pre"), within("blockquote > p")];
    if (within("td, th")) {
      event.preventDefault();
      run("insertLineBreak");
    } else if (own && !hasWords(own)) {
      event.preventDefault();
      change(() => {
        const quote = own.parentElement;
        const behind = quote.cloneNode();
        while (own.nextSibling) behind.append(own.nextSibling);
        quote.after(own, ...(behind.firstChild ? [behind] : []));
        if (!quote.firstChild) quote.remove();
      });
    } else if (pre) {
      event.preventDefault();
      const before = document.createRange();
      before.selectNodeContents(pre);
      before.setEnd(now.startContainer, now.startOffset);
      const [start, end] = [String(before), pre.textContent.slice(String(before).length)];
      past.record();
      if (/(^|\n)$/.test(start) && !end.trim()) {
        pre.textContent = `${start.trimEnd()}\n`;
        const next = pre.nextElementSibling?.matches("p") && !hasWords(pre.nextElementSibling) ? pre.nextElementSibling : paragraph();
        pre.after(next);
        caret(next);
      } else {
        pre.textContent = `${start}\n${end || "\n"}`;
        caret(pre.firstChild, start.length + 1);
      }
      edited();
    }
  }

  // -- the buttons ----------------------------------------------------------------------------------------------------

  const tools = form.querySelector("[data-tools]");
  const states = Object.entries({
    "[data-wrap='**']": () => within(HEADINGS) ? within("b, strong") : document.queryCommandState("bold"),
    "[data-wrap='*']": () => document.queryCommandState("italic"),
    "[data-wrap='`']": () => within("code, pre"),
    "[data-line='- ']": () => within("ul"),
    "[data-line='1. ']": () => within("ol"),
    "[data-line='> ']": () => within("blockquote"),
    "[data-line='## ']": () => within("h2"),
    "[data-line='### ']": () => within("h3"),
    "[data-link]": () => within("a"),
  }).map(([selector, isOn]) => [tools.querySelector(selector), isOn]).filter(([button]) => button);
  document.addEventListener("selectionchange", () => {
    const now = editor.isConnected && range();
    if (!now) return;
    place = now.cloneRange();
    for (const [button, isOn] of states) button.ariaPressed = Boolean(isOn());
  });

  // Switches between rich text and its Markdown.
  const toggle = made("button", [t("Markdown")], { type: "button", className: "quiet", title: t("Show the Markdown of the message"), tabIndex: -1 });
  tools.append(toggle);
  function choose(isWanted) {
    const can = isRich(text.value, hasHeadings);
    editor.hidden = !(isWanted && can);
    text.hidden = !editor.hidden;
    toggle.ariaPressed = editor.hidden;
    told.hidden = can || !isWanted;
    links.hidden = true;
    place = null;
    const [from, to] = editor.hidden ? [editor, text] : [text, editor];
    for (const name of ["data-first-field", "data-focus"]) {
      if (!from.hasAttribute(name)) continue;
      from.removeAttribute(name);
      to.setAttribute(name, "");
    }
    for (const [button] of states) button.ariaPressed = editor.hidden ? null : "false";
    if (!editor.hidden) show();
  }
  toggle.addEventListener("click", () => {
    choose(editor.hidden);
    (editor.hidden ? text : editor).focus();
  });
  for (const each of [text.labels[0], ...all(`a[href="#${text.id}"]`)]) each.addEventListener("click", () => editor.hidden || setTimeout(() => editor.focus()));
  // Puts the caret after existing text, before the signature, or on an empty first line, as above a quotation.
  editor.addEventListener("focus", () => {
    if (place) return;
    const own = [...editor.children];
    const end = own.findIndex((each) => /^#(signature|sig|original_message)\s*$/m.test(each.textContent));
    const last = own.slice(0, end < 0 ? own.length : end).reverse().find(hasWords);
    const now = document.createRange();
    now.selectNodeContents(last && hasWords(own[0]) ? last : own[0]);
    now.collapse(!(last && hasWords(own[0])));
    select(now);
  });
  const hadFocus = document.activeElement === text;
  choose(true);
  if (hadFocus && !editor.hidden) editor.focus();
  return {
    isShown: () => !editor.hidden,
    wrap,
    line,
    link,
    put,
    snippet() {
      enter();
      run("insertText", /\S$/.test(editor.value.slice(0, editor.selectionStart)) ? " :" : ":");
    },
  };
}
