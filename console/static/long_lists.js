// Turns a long list of options into a field that searches them. The list stays in the form and is sent; typed text that
// is not an option is never sent.
import { combobox } from "./combobox.js";
import { t } from "./say.js";

const MOST = 200; // options shown at once

export function shorten(list) {
  const input = document.createElement("input");
  const chosen = () => list.selectedOptions[0]?.text ?? "";
  const fitting = (words) => [...list.options].filter((each) => words.every((word) => each.text.toLowerCase().includes(word)));
  Object.assign(input, { type: "text", id: list.id, autocomplete: "off", value: chosen() });
  for (const name of ["aria-describedby", "aria-invalid", "data-hotkey"]) {
    if (list.hasAttribute(name)) input.setAttribute(name, list.getAttribute(name));
  }
  list.removeAttribute("data-hotkey");
  list.id += "-list";
  list.hidden = true;
  list.before(input);
  list.closest(".field").classList.add("chooser");
  const take = ({ option }) => {
    const isNew = option && !option.selected;
    if (isNew) option.selected = true;
    input.value = chosen();
    input.setCustomValidity("");
    if (!isNew) return;
    list.dispatchEvent(new Event("change", { bubbles: true }));
  };
  combobox(
    input,
    (text) => fitting(text.toLowerCase().split(/\s+/).filter(Boolean)).slice(0, MOST)
      .map((option) => ({ label: option.text, option, isNow: option.selected })),
    take,
    () => input.value === chosen(),
  );
  input.addEventListener("input", () => input.setCustomValidity(input.value === chosen() ? "" : t("Choose one from the list.")));
  input.addEventListener("blur", () => {
    const text = input.value.trim().toLowerCase();
    const same = [...list.options].filter((each) => each.text.trim().toLowerCase() === text);
    take({ option: same.length === 1 ? same[0] : null });
  });
}
