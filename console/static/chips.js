// Shows the addresses of a line as chips: a comma, Enter or leaving the line turns text into a chip, Backspace turns
// the last chip back into text. The form sends all of them in one field, as without scripts.
import { all } from "./page.js";
import { t } from "./say.js";

// Resolves once the style of what scripts add to the form has loaded or failed.
const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("reply.css", import.meta.url) });
export const styled = new Promise((resolve) => (style.onload = style.onerror = resolve));
document.head.append(style);

const OUTSIDE = /[,;\n](?=(?:[^"]*"[^"]*")*[^"]*$)/; // a separator that is not in quotes

export function chips(input) {
  const { form, name } = input;
  const box = document.createElement("div");
  const list = document.createElement("ul");
  const label = input.labels[0].textContent.trim();
  box.className = "chips";
  list.className = "chosen";
  list.setAttribute("aria-label", label);
  const caret = document.activeElement === input && [input.selectionStart, input.selectionEnd];
  input.replaceWith(box);
  box.append(list, input);
  if (caret) (input.focus(), input.setSelectionRange(...caret)); // moving the element loses both

  const addresses = () => all("li", list).map((each) => each.dataset.address);
  const whole = () => [...addresses(), input.value.trim()].filter(Boolean).join(", ");

  function add(address) {
    if (!address || addresses().includes(address)) return;
    const item = document.createElement("li");
    const text = Object.assign(document.createElement("bdi"), { textContent: address });
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "✕" });
    item.dataset.address = address;
    button.setAttribute("aria-label", t("Remove {name}", { name: address }));
    item.append(text, button);
    list.append(item);
    list.hidden = false;
  }
  // Turns the text before the last separator, or all of it, into chips.
  function read(isWhole) {
    const parts = input.value.split(OUTSIDE).map((each) => each.trim());
    if (!isWhole && parts.length < 2) return;
    const rest = isWhole ? "" : parts.pop();
    parts.forEach(add);
    input.value = rest;
  }
  function changed() {
    list.hidden = !list.children.length;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }
  function remove(item) {
    const next = item.nextElementSibling?.querySelector("button") ?? input;
    item.remove();
    changed();
    next.focus();
  }

  list.hidden = true;
  read(!caret || input.value === input.defaultValue); // an address being typed stays text
  input.addEventListener("input", () => read(false));
  input.addEventListener("change", () => read(false));
  input.addEventListener("entered", () => (read(true), changed()));
  input.addEventListener("replaced", () => {
    list.replaceChildren();
    read(true);
    changed();
  });
  input.addEventListener("blur", () => input.value.trim() && (read(true), changed()));
  input.addEventListener("keydown", (event) => {
    const isAtStart = !input.selectionStart && !input.selectionEnd;
    const last = list.lastElementChild;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      if (input.hasAttribute("aria-activedescendant") || event.defaultPrevented) return; // an option is chosen
      event.preventDefault(); // or the form would be sent
      if (input.value.trim()) (read(true), changed());
    } else if (event.key === "Backspace" && isAtStart && last && !input.value) {
      event.preventDefault();
      input.value = last.dataset.address;
      last.remove();
      changed();
    } else if (event.key === "ArrowLeft" && isAtStart && last) {
      event.preventDefault();
      last.querySelector("button").focus();
    }
  });
  list.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) remove(button.parentElement);
  });
  list.addEventListener("keydown", (event) => {
    const item = event.target.closest("li");
    const next = { ArrowLeft: item.previousElementSibling, ArrowRight: item.nextElementSibling ?? input }[event.key];
    if (next) (next.querySelector?.("button") ?? input).focus();
    else if (event.key === "Backspace" || event.key === "Delete") remove(item);
    else return;
    event.preventDefault();
  });
  box.addEventListener("click", (event) => event.target === box && input.focus());
  form.addEventListener("formdata", ({ formData }) => formData.set(name, whole()));

  // When the page is left, the browser stores only the text of the line.
  addEventListener("pagehide", () => {
    input.value = whole();
    list.replaceChildren();
  });
  addEventListener("pageshow", (event) => event.persisted && read(true));
}
