// Dialogs, questions before what cannot be undone, menus that close, the summary that is read first.
import { all, enhance } from "./page.js";
import { t } from "./say.js";

for (const button of all("[data-open]")) {
  button.hidden = false;
  button.addEventListener("click", () => document.getElementById(button.dataset.open).showModal());
}

const question = document.getElementById("confirm");
addEventListener("submit", (event) => {
  const form = event.target;
  const asked = event.submitter?.dataset.confirm ?? form.dataset.confirm;
  if (!asked || form.dataset.sure) return;
  event.preventDefault();
  document.getElementById("confirm-text").textContent = asked;
  const verb = event.submitter?.textContent.replace("…", "").trim() || t("Continue");
  question.querySelector("[value=yes]").textContent = verb;
  question.returnValue = "";
  question.showModal();
  question.onclose = () => {
    if (question.returnValue !== "yes") return event.submitter?.focus();
    form.dataset.sure = "yes";
    const sure = form.querySelector("[data-sure]");
    if (sure) sure.value = "1";
    form.requestSubmit(event.submitter);
    delete form.dataset.sure;
  };
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
