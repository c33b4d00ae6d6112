// The files of a ticket in a dialog, one after the other: pictures, PDF and text.
import { t } from "./say.js";

const MOST_TEXT = 256 * 1024; // bytes of a text that are shown
const PDF_HEAD = 1024; // bytes in which a PDF says that it is one
let dialog = null;
let files = [];
let at = 0;

function created(name, values = {}, ...children) {
  const element = Object.assign(document.createElement(name), values);
  element.append(...children);
  return element;
}
const button = (text, label, act) => {
  const element = created("button", { type: "button", className: "quiet square", textContent: text, ariaLabel: label, title: label });
  element.addEventListener("click", act);
  return element;
};

const none = () => created("p", { className: "muted", textContent: t("No preview for this type of file.") });

// The beginning of a file as text; null if it cannot be read.
async function beginning(address, bytes) {
  const response = await fetch(address, { headers: { Range: `bytes=0-${bytes - 1}` } }).catch(() => null);
  return response?.ok ? response.text() : null;
}

async function textOf(address) {
  const textContent = await beginning(address, MOST_TEXT);
  return textContent === null ? none() : created("pre", { tabIndex: 0, textContent });
}

// For a file that only calls itself PDF the browser would show an error, which takes the keys from the dialog.
async function pdfOf(address, title) {
  const text = await beginning(address, PDF_HEAD);
  return text?.includes("%PDF-") ? created("iframe", { src: `${address}?shown=1`, title }) : none();
}

function shown({ dataset, href }, name) {
  if (dataset.preview === "image") return created("img", { src: href, alt: name });
  if (dataset.preview === "pdf" && navigator.pdfViewerEnabled) return pdfOf(href, name);
  return dataset.preview === "text" ? textOf(href) : none();
}

async function show(place) {
  at = (place + files.length) % files.length;
  const link = files[at];
  const [name, count, download] = dialog.querySelectorAll("strong, .muted, a");
  name.textContent = link.textContent.trim();
  count.textContent = files.length > 1 ? `${at + 1} / ${files.length}` : "";
  download.href = link.href;
  const content = await shown(link, name.textContent);
  if (files[at] === link) dialog.lastElementChild.replaceChildren(content);
}

function open() {
  const name = created("strong", { id: "viewer-name", dir: "auto" });
  const download = created("a", { className: "button small", download: "", textContent: t("Download") });
  const close = button("✕", t("Close"), () => dialog.close());
  dialog = created("dialog", { className: "viewer" },
    created("div", { className: "head" }, name, created("span", { className: "muted", role: "status" }), download,
      button("‹", t("Previous file"), () => show(at - 1)), button("›", t("Next file"), () => show(at + 1)), close),
    created("div"));
  dialog.setAttribute("aria-labelledby", "viewer-name");
  dialog.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowRight" || key === "j") show(at + 1);
    if (key === "ArrowLeft" || key === "k") show(at - 1);
  });
  dialog.addEventListener("close", () => dialog.lastElementChild.replaceChildren());
  document.body.append(dialog);
}

export function view(links, place) {
  if (!dialog) open();
  files = links;
  dialog.showModal();
  return show(place);
}
