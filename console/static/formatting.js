// Enhances the form of a reply: Markdown by buttons and keys, snippets, the outgoing identity of the chosen group, and
// a reminder of forgotten attachments.
import { markdownBox } from "./markdown_box.js";
import { all, say } from "./page.js";
import { picker } from "./picking.js";
import { t } from "./say.js";
import { rove } from "./tools.js";

// changed(): called after a change. attach(files, isInline): uploads files.
export function format(form, changed, attach) {
  const field = form.elements;
  const text = field.content;
  const tools = form.querySelector("[data-tools]");
  const moreActs = ({ replace }) => ({
    snippet() {
      const at = text.selectionStart;
      replace(at && !/\s/.test(text.value[at - 1]) ? " :" : ":", at, text.selectionEnd);
    },
  });
  const { box, place } = markdownBox(form, text, tools, { changed, attach, moreActs, richText: "rich" in form.dataset ? {} : null });
  rove(tools);
  for (const menu of all("[data-pick]", form)) picker(menu, form.put);
  // Replaces the line for the quotation with its text, or removes it.
  const quoted = form.querySelector("[data-quoted]");
  const command = /^#original_message[ \t]*$/m;
  quoted?.addEventListener("click", async (event) => {
    const { value } = event.target.closest("button") ?? {};
    if (!value) return;
    event.preventDefault();
    const answer = value === "quote" ? await fetch(`${quoted.dataset.quoted}?text=1`).catch(() => null) : null;
    if (value === "quote" && !answer?.ok) return say(t("The server does not respond. Nothing you typed is lost; try again."));
    const words = answer ? (await answer.json()).text : "";
    const { index = -1, 0: line } = command.exec(text.value) ?? {};
    if (index < 0) return;
    if (place() === box) box.replace(words, index, index + line.length);
    else text.value = text.value.replace(command, () => words).trimEnd();
    text.dispatchEvent(new Event("replaced"));
    quoted.open = false;
    changed();
    form.dispatchEvent(new Event("change"));
  });
  const fold = () => quoted && (quoted.hidden = !command.test(text.value));
  for (const name of ["input", "change"]) form.addEventListener(name, fold);

  // Sends later by key, asking for the time first, and switches the preview.
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

  // Switches between all recipients and only the sender.
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
