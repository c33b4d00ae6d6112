// The text of a snippet: signs of Markdown by buttons and keys, placeholders at the caret.
import { fitted } from "./frames.js";
import { all } from "./page.js";

all("[data-fit]").forEach(fitted);
const form = document.querySelector("[data-snippet-form]");
const text = form.elements.content;

function put(words, from, to) {
  text.focus();
  text.setSelectionRange(from, to);
  document.execCommand(words ? "insertText" : "delete", false, words); // so that undo knows of it
}
function wrap(sign, end = sign) {
  const [from, to] = [text.selectionStart, text.selectionEnd];
  put(sign + text.value.slice(from, to) + end, from, to);
  if (from === to) text.selectionStart = text.selectionEnd = from + sign.length;
}
function begin(sign) {
  const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
  put(text.value.slice(from, text.selectionEnd).split("\n").map((line) => sign + line).join("\n"), from, text.selectionEnd);
}

const marks = form.querySelector("[data-marks]");
marks.hidden = false;
marks.addEventListener("click", ({ target }) => {
  const { wrap: sign, line, link } = target.closest("button")?.dataset ?? {};
  if (sign) wrap(sign);
  else if (line) begin(line);
  else if (link !== undefined) wrap("[", "](https://)");
});
text.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  const act = { b: () => wrap("**"), i: () => wrap("*"), k: () => wrap("[", "](https://)") }[event.key];
  if (act) (event.preventDefault(), event.stopPropagation(), act());
});
for (const button of all("[data-put]", form)) {
  button.hidden = false;
  button.addEventListener("click", () => put(button.dataset.put, text.selectionStart, text.selectionEnd));
}
