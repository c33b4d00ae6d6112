// Editors of scripts: numbered lines, mistakes told while typing, Tab indents until Escape says that it shall not.
import { all, ask, calmly } from "./page.js";

for (const box of all("[data-editor]")) {
  const text = box.querySelector("textarea");
  const lines = box.querySelector(".lines");
  const told = box.querySelector(".mistakes");
  let tabLeaves = false;

  const badLines = () => new Set(all("[data-line]", told).map((each) => Number(each.dataset.line)));
  function number() {
    const count = text.value.split("\n").length;
    const bad = badLines();
    if (lines.children.length !== count) {
      lines.replaceChildren(...Array.from({ length: count }, (_, place) => {
        const line = document.createElement("li");
        line.textContent = String(place + 1);
        return line;
      }));
    }
    [...lines.children].forEach((line, place) => line.classList.toggle("bad", bad.has(place + 1)));
    lines.scrollTop = text.scrollTop;
  }
  function go(line) {
    const before = text.value.split("\n").slice(0, line - 1).join("\n");
    const start = before.length + (line > 1 ? 1 : 0);
    text.focus();
    text.setSelectionRange(start, start);
    text.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(text).lineHeight));
    number();
  }
  const look = calmly(async () => {
    const value = text.value;
    const found = await ask(text.dataset.check, { text: value });
    if (!found || text.value !== value) return;
    told.replaceChildren(...found.mistakes.map(([line, reason]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `#${text.id}`;
      link.dataset.line = line;
      link.textContent = `Line ${line}`;
      item.append(link, `: ${reason}`);
      return item;
    }));
    number();
  }, 400);

  told.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    if (!link) return;
    event.preventDefault();
    go(Number(link.dataset.line));
  });
  text.addEventListener("input", () => {
    number();
    if (text.dataset.check) look();
  });
  text.addEventListener("scroll", () => (lines.scrollTop = text.scrollTop));
  text.addEventListener("blur", () => (tabLeaves = false));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tabLeaves = true;
    else if (event.key === "Tab" && !tabLeaves && !event.shiftKey && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      document.execCommand("insertText", false, "  "); // so that undo knows of it
    } else if (event.key === "F8") {
      const bad = [...badLines()].sort((one, other) => one - other);
      const here = text.value.slice(0, text.selectionStart).split("\n").length;
      const next = bad.find((line) => line > here) ?? bad[0];
      if (next) (event.preventDefault(), go(next));
    } else if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      text.form.querySelector("[data-save]")?.click();
    }
  });
  number();
}
