// Runs the form of a reply or new ticket: stores drafts, adds files and snippets, shows a preview.
import { all, ask, calmly, enhance } from "./page.js";
import { t } from "./say.js";
import { forget, restore, store } from "./unsaved.js";

const SENT = "sent"; // key of sessionStorage: the form sent last
const AGAIN = 3000; // milliseconds until a retry if the server did not respond

function write(form) {
  const field = form.elements;
  const text = field.content;
  const told = form.querySelector("[data-kept]");
  const frame = form.querySelector("iframe.preview");
  let isChanged = false;
  let going = null;
  let isOver = false;
  let isTyped = false;

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
        told.textContent = t("Draft stored.");
        forget(form);
        form.querySelector("[data-discard]").hidden = false;
        look();
      } else {
        if (!kept) (store(form), (isChanged = Boolean(setTimeout(keep, AGAIN))));
        told.textContent = kept?.conflict ?? t("The server does not respond. What you typed is stored in this browser.");
      }
    });
    return going;
  }
  const soon = calmly(keep, 1000);
  const changed = () => {
    isChanged = isTyped = true;
    dispatchEvent(new Event("writing"));
    soon();
  };
  form.addEventListener("sending", () => forget(form));
  form.addEventListener("unsent", () => ((isOver = false), changed()));
  if (restore(form)) {
    isChanged = isTyped = true;
    soon();
    told.textContent = t("Restored: the server did not have this text yet.");
  }
  form.keepNow = keep; // called before another form replaces this one
  form.addEventListener("input", changed);
  form.addEventListener("change", changed);
  document.addEventListener("visibilitychange", () => document.hidden && form.isConnected && keep());
  // Waits for a draft on its way before the form is sent: stored later, it would come back as a draft.
  form.addEventListener("submit", (event) => {
    if (field.back) field.back.value = location.pathname + location.search;
    // Back restores the words in a newly loaded page: the form is the one sent before, not another.
    const [path, words, number] = JSON.parse(sessionStorage.getItem(SENT) ?? "[]");
    if (!isTyped && path === form.action && words === text.value && words !== text.defaultValue) field._xsrf.value = number;
    sessionStorage.setItem(SENT, JSON.stringify([form.action, text.value, field._xsrf.value]));
    if (!going) return (isOver = true);
    event.preventDefault();
    event.stopImmediatePropagation();
    if (isOver) return; // a second click while the first one waits
    const { submitter } = event;
    isOver = true;
    going.then(() => form.requestSubmit(submitter));
  });

  function look() {
    if (!frame.hidden && field.draft.value) frame.contentWindow.location.replace(`/drafts/${field.draft.value}/preview`);
  }
  const button = form.querySelector("[data-preview]");
  button.addEventListener("click", (event) => {
    event.preventDefault();
    frame.hidden = !frame.hidden;
    button.setAttribute("aria-pressed", !frame.hidden);
    if (!frame.hidden && !field.draft.value) isChanged = true;
    if (isChanged) keep();
    else look();
  });

  // Stores files once they are chosen, dropped or pasted; the form then lists them, or the message shows them.
  async function attachAll(files, isInline) {
    const given = [...files];
    const { attach } = await import("./attaching.js");
    for (const file of given) attach(form, file, changed, isInline);
  }
  const chooser = field["files[]"];
  chooser.addEventListener("change", () => {
    attachAll(chooser.files);
    chooser.value = "";
  });
  const place = form.closest(".answer");
  for (const name of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      place.classList.toggle("drops", name === "dragover");
      if (name === "drop") attachAll(event.dataTransfer.files, Boolean(event.target.closest(".both")));
    });
  }
  const tools = form.querySelector("[data-tools]");
  tools.inert = true;
  tools.hidden = false;
  // Without these, as while the server is down, addresses are typed and Markdown has no buttons.
  import("./chips.js").then(({ styled, chips }) => styled.then(() => all("[data-several]", form).forEach(chips)), () => null);
  import("./formatting.js").then(({ format }) => { // after what is seen first
    format(form, changed, attachAll);
    tools.inert = false;
  }, () => null);
}

enhance((root) => all("form[data-writing]", root).forEach(write));
