// Enhances editors of scripts: numbered lines, mistakes shown while typing, completion of words, Tab that indents until
// Escape is pressed.
import { all, ask, calmly, say } from "./page.js";
import { t } from "./say.js";

let last = null; // next() of the editor used last

for (const box of all("[data-editor]")) {
  const text = box.querySelector("textarea");
  const lines = box.querySelector(".lines");
  const told = box.querySelector(".mistakes");
  let completion = null; // loaded at the first focus
  text.addEventListener("focus", async () => {
    completion = (await import("./words.js")).complete(box, text);
    completion?.open(false);
  }, { once: true });
  import("./paint.js").then(({ paint }) => paint(box, text)); // colours can wait
  let tabLeaves = false;

  const badLines = () => new Set(all("[data-line]", told).map((each) => Number(each.dataset.line)));
  let marked = new Set();
  function number() {
    const count = text.value.split("\n").length;
    const more = count - lines.children.length;
    for (let gone = more; gone < 0; gone++) lines.lastChild.remove();
    lines.append(...Array.from({ length: Math.max(0, more) }, (_, place) => {
      const line = document.createElement("li");
      line.textContent = String(count - more + place + 1);
      return line;
    }));
    const bad = badLines();
    for (const line of new Set([...marked, ...bad])) lines.children[line - 1]?.classList.toggle("bad", bad.has(line));
    marked = bad;
    requestAnimationFrame(() => (lines.scrollTop = text.scrollTop));
  }
  function go(line) {
    const before = text.value.split("\n").slice(0, line - 1).join("\n");
    const start = before.length + (line > 1 ? 1 : 0);
    text.focus();
    text.setSelectionRange(start, start);
    text.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(text).lineHeight));
    number();
  }
  // Goes to the next line with a mistake after the cursor, else to the first. Returns false if there is none.
  function next() {
    const bad = [...badLines()].sort((one, other) => one - other);
    const here = text === document.activeElement ? text.value.slice(0, text.selectionStart).split("\n").length : 0;
    const line = bad.find((each) => each > here) ?? bad[0];
    if (line) go(line);
    return Boolean(line);
  }
  const look = calmly(async () => {
    const value = text.value;
    const trigger = text.form?.elements.extension_id?.value ?? ""; // of automations only: what starts the script
    const found = await ask(text.dataset.check, { text: value, trigger });
    if (!found || text.value !== value) return;
    told.replaceChildren(...found.mistakes.map(([line, reason]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `#${text.id}`;
      link.dataset.line = line;
      link.textContent = t("Line {line}", { line });
      item.append(link, `: ${reason}`);
      return item;
    }));
    number();
  }, 400);

  box.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line], [data-go]");
    if (!link) return;
    event.preventDefault();
    go(Number(link.dataset.line ?? link.dataset.go));
  });
  text.addEventListener("input", () => {
    number();
    if (text.dataset.check) look();
  });
  text.addEventListener("focus", () => (last = next));
  text.addEventListener("scroll", () => (lines.scrollTop = text.scrollTop));
  text.addEventListener("blur", () => (tabLeaves = false));
  text.addEventListener("keydown", (event) => {
    if (completion?.takes(event)) return;
    if (event.key === "Escape") tabLeaves = true;
    else if (event.key === "Tab" && !tabLeaves && !event.shiftKey && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      document.execCommand("insertText", false, "  "); // so that it can be undone
    } else if (event.key === "F8" && next()) event.preventDefault();
  });
  box.next = next;
  number();
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  if (event.key === "F8") {
    const found = [last, ...all("[data-editor]").map((box) => box.next)].find((next) => next?.());
    if (found) event.preventDefault();
  } else if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
    const button = (event.target.closest?.("form") ?? document).querySelector("[data-save]");
    if (button) (event.preventDefault(), button.click());
  }
});

// Stops a run that the page waits for. The page goes on waiting for its result.
const stop = document.querySelector("[data-stop]");
const runs = "[value=simulate], [value=run], [value=resume], [value=keep], [name=at], [name=example]:not([form])";
async function halt() {
  const answer = await fetch(stop.form.action, { method: "POST", body: new URLSearchParams(new FormData(stop.form)) });
  if (answer.ok) say(t("The run stops after its current command."));
  else if (!stop.hidden) setTimeout(halt, 500); // it has not begun yet
}
if (stop) {
  stop.hidden = true;
  addEventListener("submit", (event) => {
    const button = event.submitter;
    if (event.target === stop.form) {
      event.preventDefault();
      halt();
    } else setTimeout(() => (stop.hidden = event.defaultPrevented || !button?.matches(runs)));
  });
  addEventListener("pageshow", () => (stop.hidden = true));
}

// Marks a form that is shown again with unsaved input as changed.
addEventListener("DOMContentLoaded", () => {
  for (const form of all("form[data-changed]")) form.dispatchEvent(new Event("input"));
});
