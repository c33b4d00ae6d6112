// Opens dialogs, confirms acts that cannot be undone, closes menus, focuses what is read first.
import { all, enhance } from "./page.js";
import { t } from "./say.js";

for (const button of all("[data-open]")) {
  button.hidden = false;
  button.addEventListener("click", () => document.getElementById(button.dataset.open).showModal());
}

// Asks in a dialog. Resolves to true if the button `verb` was pressed.
const question = document.getElementById("confirm");
export function confirmed(text, verb, isUndoable = false) {
  const before = document.activeElement;
  const yes = question.querySelector("[value=yes]");
  document.getElementById("confirm-text").textContent = text;
  yes.textContent = verb || t("Continue");
  yes.className = isUndoable ? "primary" : "danger";
  question.returnValue = "";
  question.showModal();
  if (isUndoable) yes.focus();
  return new Promise((decided) => {
    question.onclose = () => {
      const isSure = question.returnValue === "yes";
      if (!isSure && before?.isConnected) before.focus();
      decided(isSure);
    };
  });
}
addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  const asked = submitter?.dataset.confirm ?? form.dataset.confirm;
  if (!asked || form.dataset.sure) return;
  event.preventDefault();
  if (!(await confirmed(asked, submitter?.textContent.replace("…", "").trim()))) return;
  form.dataset.sure = "yes";
  const sure = form.querySelector("[data-sure]");
  if (sure) sure.value = "1";
  form.requestSubmit(submitter);
  delete form.dataset.sure;
});

enhance((root) => {
  for (const menu of all("details.menu", root)) {
    menu.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }
});
addEventListener("click", (event) => {
  for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

document.querySelector("[data-focus]")?.focus();
for (const link of all(".summary a")) {
  link.addEventListener("click", (event) => {
    const field = document.getElementById(link.hash.slice(1));
    if (!field) return;
    event.preventDefault();
    (field.matches("fieldset") ? field.querySelector("input") : field).focus();
  });
}
