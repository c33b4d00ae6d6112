// Copies texts at the press of a button, and warns before a secret that was not copied is left behind.
import { all, enhance, say } from "./page.js";
import { t } from "./say.js";

const uncopied = new Set();

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // without https there is no clipboard API
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

// Adds a button to each block of a guide, except those that show the output of a command.
for (const block of all(".prose pre").filter((each) => !each.closest(".shows"))) {
  const box = document.createElement("div");
  const button = document.createElement("button");
  box.className = "snippet";
  Object.assign(button, { type: "button", className: "small", textContent: t("Copy"), ariaLabel: t("Copy these lines") });
  button.dataset.copy = block.textContent;
  block.replaceWith(box);
  box.append(block, button);
}

enhance((root) => {
  for (const button of all("[data-copy]", root)) {
    button.hidden = false;
    if ("secret" in button.dataset) uncopied.add(button);
    button.addEventListener("click", async () => {
      try {
        await copy(button.dataset.copy || button.previousElementSibling.textContent);
        uncopied.delete(button);
        button.textContent = t("Copied");
        setTimeout(() => (button.textContent = t("Copy")), 2000);
        say(t("Copied."));
      } catch {
        say(t("Your browser did not allow copying. Select the text instead."));
      }
      button.focus();
    });
  }
});

// Downloading the file of secrets counts as a copy.
for (const link of all("[data-copies]")) link.addEventListener("click", () => uncopied.clear());

addEventListener("beforeunload", (event) => {
  if (!uncopied.size) return;
  event.preventDefault();
  uncopied.clear(); // one warning: leaving after it is deliberate
});
