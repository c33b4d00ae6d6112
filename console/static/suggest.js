// Suggests words in a list below the caret, announced to screen readers; the focus stays in the text.
import { t } from "./say.js";

const MOST = 50; // suggestions
const PATIENCE = 2000; // milliseconds that keys wait for a lookup
const TAKEN = ["ArrowDown", "ArrowUp", "Enter", "Tab"]; // keys that the list handles
const COPIED = ["font", "letterSpacing", "tabSize", "padding", "border", "boxSizing", "whiteSpace", "overflowWrap", "wordBreak", "direction"];

// Returns {left, top} of the bottom of the line at an offset, measured in a hidden copy of the text before it.
function spot(text, at) {
  const style = getComputedStyle(text);
  const [copy, mark] = [document.createElement("div"), document.createElement("span")];
  for (const name of COPIED) copy.style[name] = style[name];
  Object.assign(copy.style, { position: "absolute", visibility: "hidden", width: `${text.offsetWidth}px` });
  mark.textContent = "\u200b";
  copy.append(text.value.slice(0, at), mark);
  text.parentElement.append(copy);
  const found = { left: mark.offsetLeft - text.scrollLeft, top: mark.offsetTop + mark.offsetHeight - text.scrollTop };
  copy.remove();
  return found;
}

// find(isAsked): suggestions at the caret, {typed, length, found: [{name, note, end}]}, or null. length: characters
// that the chosen one replaces. put: returns the text to insert instead of its name. Returns {takes, open}: `takes`
// handles a key for the open list and returns whether it did; `open` finds suggestions.
export function suggest(box, text, label, find, put) {
  const popup = document.createElement("ul");
  const count = document.createElement("p");
  popup.className = "options";
  popup.style.width = "min(24rem, 100%)";
  popup.id = `${text.id}-words`;
  popup.setAttribute("role", "listbox");
  popup.setAttribute("aria-label", label);
  popup.hidden = true;
  count.className = "unseen";
  count.setAttribute("role", "status");
  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-haspopup", "listbox");
  box.append(popup, count);
  let shown = [];
  let chosen = 0;
  let length = 0; // characters already typed
  let asked = 0; // lookups; only the newest counts
  let answered = 0;
  let held = []; // a key for the list that was pressed during a lookup, and the keys after it: they apply to its result
  let patience = 0;

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
  function insert(words) {
    if (text.insert) return text.insert(words);
    if (text !== document.activeElement) return text.setRangeText(words, text.selectionStart, text.selectionEnd, "end");
    document.execCommand(words ? "insertText" : "delete", false, words); // so that undo covers it
  }
  async function take() {
    const { name, end = "", ...more } = shown[chosen];
    const here = text.selectionStart;
    const ends = end && text.value.slice(here).startsWith(end) ? "" : end;
    text.setSelectionRange(here - length, here);
    close();
    insert(put ? await put({ name, ...more }) : name + ends);
    close();
  }
  function place() {
    const [field, area] = [box.getBoundingClientRect(), text.getBoundingClientRect()];
    const { left, top } = text.spot?.(text.selectionStart - length) ?? spot(text, text.selectionStart - length);
    popup.style.left = `${Math.max(0, Math.min(area.left - field.left + left, field.width - popup.offsetWidth))}px`;
    popup.style.top = `${Math.min(area.top + top, area.bottom) - field.top}px`;
  }
  async function open(isAsked) {
    const mine = ++asked;
    const now = await find(isAsked);
    if (mine !== asked) return;
    answered = mine;
    if (text !== document.activeElement || text.selectionStart !== text.selectionEnd) close();
    else show(now);
    release();
  }
  function hold(key) {
    held.push(key);
    patience ||= setTimeout(giveUp, PATIENCE);
  }
  // Types the held keys without the list.
  function giveUp() {
    if (!held.length) return;
    answered = ++asked;
    close();
    release();
  }
  async function release() {
    clearTimeout(patience);
    patience = 0;
    for (const key of held.splice(0)) {
      if (!popup.hidden && TAKEN.includes(key)) await press(key);
      else if (key === "Enter") insert("\n");
      else if (key.length === 1) insert(key);
    }
  }
  function show(now) {
    if (!now) return close();
    const typed = now.typed.toLowerCase();
    const fits = ({ name, note = "" }) => [name, note].map((each) => each.toLowerCase()).map((each) => each.startsWith(typed) ? 2 : Number(each.includes(typed)));
    const rank = (each) => now.isByNote ? Math.max(...fits(each)) : fits(each)[0];
    shown = now.found.filter(rank).sort((one, other) => rank(other) - rank(one)).slice(0, MOST);
    if (!shown.length) return close();
    length = now.length;
    popup.replaceChildren(...shown.map(({ name, note }, at) => {
      const item = document.createElement("li");
      const code = document.createElement(now.isByNote ? "span" : "code");
      item.id = `${popup.id}-${at}`;
      item.setAttribute("role", "option");
      code.textContent = name;
      item.append(code);
      if (note) {
        const told = document.createElement("span");
        told.className = "muted";
        told.textContent = note;
        if (!now.isByNote) told.style.display = "block";
        item.append(" ", told);
      }
      return item;
    }));
    popup.hidden = false;
    text.setAttribute("aria-controls", popup.id);
    count.textContent = shown.length === 1 ? t("1 word matches") : t("{count} words match", { count: shown.length });
    place();
    choose(0);
  }

  popup.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the focus stays
    const item = event.target.closest("li");
    if (!item) return;
    choose([...popup.children].indexOf(item));
    take();
  });
  text.addEventListener("input", (event) => event.inputType?.startsWith("insert") || !popup.hidden ? open(false) : close());
  text.addEventListener("blur", () => (giveUp(), close()));
  text.addEventListener("pointerdown", giveUp);
  text.addEventListener("click", close);
  text.addEventListener("scroll", () => popup.hidden || place());

  function press(key) {
    if (!key.startsWith("Arrow")) return take();
    return choose(chosen + (key === "ArrowDown" ? 1 : -1));
  }

  function takes(event) {
    if (event.key === " " && event.ctrlKey) {
      open(true);
    } else if (popup.hidden || event.isComposing || event.key === "Shift") {
      return false;
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      giveUp();
      return false;
    } else if (TAKEN.includes(event.key) && !(event.key === "Tab" && event.shiftKey)) {
      if (answered === asked) press(event.key);
      else hold(event.key);
    } else if (held.length && event.key.length === 1) {
      hold(event.key);
    } else if (event.key === "Escape") {
      giveUp();
      close();
    } else {
      giveUp();
      if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key)) close();
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
  return { takes, open };
}
