// What helps while an answer is written: signs of Markdown by buttons and keys, snippets, how mail leaves from the group
// that is chosen, and a word about files that were forgotten.
import { all } from "./page.js";
import { markdownOf, readClipboard } from "./pasting.js";
import { picker } from "./picking.js";
import { t } from "./say.js";

// changed(): what follows a change. attach(files, isInline): uploads files.
export function format(form, changed, attach) {
  const field = form.elements;
  const text = field.content;
  let rich = null;

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
  const box = {
    wrap,
    line: begin,
    link: () => wrap("[", "](https://)"),
    put: (words) => (put(words, text.selectionStart, text.selectionEnd), changed()),
    snippet() {
      const at = text.selectionStart;
      put(at && !/\s/.test(text.value[at - 1]) ? " :" : ":", at, text.selectionEnd);
    },
  };
  const place = () => (rich?.isShown() ? rich : box);
  form.put = (words) => place().put(words);
  const tools = form.querySelector("[data-tools]");
  tools.addEventListener("click", (event) => {
    const { wrap: sign, line, link, snippet: asked } = event.target.closest("button")?.dataset ?? {};
    if (sign) place().wrap(sign);
    else if (line) place().line(line);
    else if (link !== undefined) place().link();
    else if (asked !== undefined) place().snippet();
  });
  rove(tools);
  for (const menu of all("[data-pick]", form)) picker(menu, form.put);
  text.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    isPlain = event.shiftKey && event.key.toLowerCase() === "v";
    const act = !event.shiftKey && { b: () => wrap("**"), i: () => wrap("*"), k: box.link }[event.key];
    if (act) (event.preventDefault(), event.stopPropagation(), act());
  });
  let isPlain = false;
  text.addEventListener("paste", async (event) => {
    const { files, rows, plain } = readClipboard(event.clipboardData, isPlain);
    if (!files && !rows && (!plain || event.clipboardData.getData("text/plain"))) return; // the browser pastes the text
    event.preventDefault();
    if (files) attach(files, true);
    else box.put(rows ? await markdownOf(rows) : plain);
  });
  if ("rich" in form.dataset) import("./rich.js").then(({ enrich }) => (rich = enrich(form, changed, attach)), () => null);

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

// One stop for Tab; the arrow keys lead from tool to tool.
function rove(tools) {
  const stops = () => all(":is(button, summary):not(.items *)", tools);
  const stop = (chosen) => stops().forEach((each) => (each.tabIndex = each === chosen ? 0 : -1));
  stop(stops()[0]);
  tools.addEventListener("focusin", ({ target }) => stops().includes(target) && stop(target));
  tools.addEventListener("keydown", (event) => {
    const found = stops();
    const at = found.indexOf(event.target);
    const by = getComputedStyle(tools).direction === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + by, ArrowLeft: at - by, Home: 0, End: found.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    found[(to + found.length) % found.length].focus();
  });
}
