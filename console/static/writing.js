// The answer of a ticket, or a new one: kept while it is typed, with files, snippets and a preview.
import { ask, calmly, say } from "./page.js";
import { t } from "./say.js";

const form = document.querySelector("form[data-writing]");
if (form) {
  const field = form.elements;
  const text = field.content;
  const told = form.querySelector("[data-kept]");
  let isChanged = false;
  let going = null;
  let isOver = false;

  async function keep() {
    if (!isChanged || isOver) return going;
    if (going) return going.then(keep);
    isChanged = false;
    const sent = new FormData(form);
    sent.delete("files[]");
    going = ask(form.dataset.writing, [...sent]).then((kept) => {
      going = null;
      if (kept?.draft) {
        field.draft.value = kept.draft;
        field.revision.value = kept.revision;
        told.textContent = t("Kept as a draft.");
        look();
      } else {
        if (!kept) isChanged = true;
        told.textContent = kept?.conflict ?? t("Not kept: the server does not answer. What you typed is still here.");
      }
    });
    return going;
  }
  const soon = calmly(keep, 1000);
  const changed = () => {
    isChanged = true;
    dispatchEvent(new Event("writing"));
    soon();
  };
  form.addEventListener("input", changed);
  form.addEventListener("change", changed);
  document.addEventListener("visibilitychange", () => document.hidden && keep());
  // What is on its way arrives before the form is sent, or it would come back as a draft.
  form.addEventListener("submit", (event) => {
    if (!going || isOver) return (isOver = true);
    event.preventDefault();
    event.stopImmediatePropagation();
    const { submitter } = event;
    isOver = true;
    going.then(() => form.requestSubmit(submitter));
  });

  const preview = () => form.querySelector("iframe.preview");
  function look() {
    const frame = preview();
    if (frame && !frame.hidden) frame.contentWindow.location.replace(`/drafts/${field.draft.value}/preview`);
  }
  form.querySelector("[data-preview]").addEventListener("click", (event) => {
    const frame = preview();
    if (!frame) return;
    event.preventDefault();
    frame.hidden = !frame.hidden;
    event.target.setAttribute("aria-pressed", !frame.hidden);
    if (isChanged) keep();
    else look();
  });

  function wrap(sign, end = sign) {
    const [from, to] = [text.selectionStart, text.selectionEnd];
    text.setRangeText(sign + text.value.slice(from, to) + end, from, to, "end");
    if (from === to) text.selectionStart = text.selectionEnd = from + sign.length;
    text.focus();
    changed();
  }
  function begin(sign) {
    const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
    const lines = text.value.slice(from, text.selectionEnd).split("\n").map((line) => sign + line);
    text.setRangeText(lines.join("\n"), from, text.selectionEnd, "end");
    text.focus();
    changed();
  }
  const tools = form.querySelector("[data-tools]");
  tools.hidden = false;
  tools.addEventListener("click", (event) => {
    const { wrap: sign, line, link } = event.target.closest("button")?.dataset ?? {};
    if (sign) wrap(sign);
    else if (line) begin(line);
    else if (link !== undefined) wrap("[", "](https://)");
  });
  text.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const act = { b: () => wrap("**"), i: () => wrap("*"), k: () => wrap("[", "](https://)") }[event.key];
    if (act) (event.preventDefault(), event.stopPropagation(), act());
  });

  // A snippet that is chosen from the list, or by its name while typing: see typing.js.
  form.querySelector("[data-paste]")?.addEventListener("click", async (event) => {
    if (!field.snippet.value) return;
    event.preventDefault();
    const filled = await ask(`/-/snippets/${field.snippet.value}`, { ticket: document.querySelector("[data-ticket]")?.dataset.id ?? "" });
    if (!filled) return say(t("The snippet could not be filled in."));
    text.setRangeText(filled.text, text.selectionStart, text.selectionEnd, "end");
    field.snippet.value = "";
    text.focus();
    changed();
  });

  // Files are kept as soon as they are chosen, dropped or pasted; the form then names them.
  async function attachAll(files) {
    const given = [...files];
    const { attach } = await import("./attaching.js");
    for (const file of given) attach(form, file, changed);
  }
  const chooser = field["files[]"];
  chooser.addEventListener("change", () => {
    attachAll(chooser.files);
    chooser.value = "";
  });
  const place = form.closest(".answer");
  for (const name of ["dragover", "dragleave", "drop"]) {
    place.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      place.classList.toggle("drops", name === "dragover");
      if (name === "drop") attachAll(event.dataTransfer.files);
    });
  }
  text.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    attachAll(event.clipboardData.files);
  });
}
