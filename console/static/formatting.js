// What helps while an answer is written: signs of Markdown by buttons and keys, snippets, how mail leaves from the group
// that is chosen, and a word about files that were forgotten.
import { all } from "./page.js";
import { picker } from "./picking.js";
import { t } from "./say.js";

export function format(form, changed) {
  const field = form.elements;
  const text = field.content;

  function put(words, from, to) {
    text.focus();
    text.setSelectionRange(from, to);
    document.execCommand(words ? "insertText" : "delete", false, words); // so that undo knows of it
  }
  function wrap(sign, end = sign) {
    const [from, to] = [text.selectionStart, text.selectionEnd];
    put(sign + text.value.slice(from, to) + end, from, to);
    if (from === to) text.selectionStart = text.selectionEnd = from + sign.length;
    changed();
  }
  function begin(sign) {
    const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
    const lines = text.value.slice(from, text.selectionEnd).split("\n").map((line) => sign + line);
    put(lines.join("\n"), from, text.selectionEnd);
    changed();
  }
  function snippet() {
    const at = text.selectionStart;
    put(at && !/\s/.test(text.value[at - 1]) ? " :" : ":", at, text.selectionEnd);
  }
  form.querySelector("[data-tools]").addEventListener("click", (event) => {
    const { wrap: sign, line, link, snippet: asked } = event.target.closest("button")?.dataset ?? {};
    if (sign) wrap(sign);
    else if (line) begin(line);
    else if (link !== undefined) wrap("[", "](https://)");
    else if (asked !== undefined) snippet();
  });
  for (const menu of all("[data-pick]", form)) {
    picker(menu, (words) => (put(words, text.selectionStart, text.selectionEnd), changed()));
  }
  text.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const act = { b: () => wrap("**"), i: () => wrap("*"), k: () => wrap("[", "](https://)") }[event.key];
    if (act) (event.preventDefault(), event.stopPropagation(), act());
  });

  // Sent later: asks for the time first. The preview, and back.
  const later = form.querySelector("[data-later]");
  form.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.altKey) return;
    if (event.key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      later.open = true;
      if (field.send_at.value.trim()) form.querySelector("[data-first]").click();
      else field.send_at.focus();
    } else if (event.key.toLowerCase() === "m") {
      event.preventDefault();
      form.querySelector("[data-preview]").click();
    }
  });

  // To all recipients, or only to the sender.
  const whom = form.querySelector("[data-whom]");
  let everybody = null;
  if (whom) whom.hidden = false;
  whom?.addEventListener("click", ({ target }) => {
    if (target.ariaPressed !== "false") return;
    const isOnly = "only" in target.dataset;
    const sent = new FormData(form);
    if (isOnly) everybody = ["to", "cc"].map((name) => sent.get(name));
    [field.to.value, field.cc.value] = isOnly ? [whom.dataset.whom, ""] : everybody;
    for (const each of [field.to, field.cc]) each.dispatchEvent(new Event("replaced"));
    for (const each of whom.children) each.ariaPressed = each === target;
  });

  const forgotten = form.querySelector("[data-forgotten]");
  const words = t("attached, attachment, enclosed").split(/,\s*/).map((each) => each.toLowerCase());
  function remember() {
    const own = text.value.split("\n").filter((line) => !line.startsWith(">")).join(" ").toLowerCase();
    forgotten.hidden = Boolean(form.querySelector("[data-attached] :is(input:checked, progress)")) || !words.some((each) => own.includes(each));
  }
  for (const name of ["input", "change"]) form.addEventListener(name, remember);
  remember();

  const way = form.querySelector("[data-way]");
  const bucket = form.querySelector("select[name=bucket]");
  bucket?.addEventListener("change", async () => {
    const answer = await fetch(`${way.dataset.way}?${new URLSearchParams({ bucket: bucket.value })}`).catch(() => null);
    if (answer?.ok) way.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
  });
}
