// Shows the files of a ticket in a dialog, one at a time: pictures, PDF and text.
import { t } from "./say.js";

const MOST_TEXT = 256 * 1024; // bytes shown of a text
const PDF_HEAD = 1024; // bytes that contain the signature of a PDF
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

// Reads the beginning of a file as text; null if that fails.
async function beginning(address, bytes) {
  const response = await fetch(address, { headers: { Range: `bytes=0-${bytes - 1}` } }).catch(() => null);
  return response?.ok ? response.text() : null;
}

// Reads the first appointment of a calendar as {name: {params, value}}, without its alarms (RFC 5545).
function fieldsOf(calendar) {
  const lines = calendar.replace(/\r?\n[ \t]/g, "").split(/\r?\n/);
  const fields = {};
  let depth = 0;
  for (const line of lines.slice(lines.indexOf("BEGIN:VEVENT") + 1)) {
    const [, name, params, value] = /^([\w-]+)((?:[^:"]|"[^"]*")*):(.*)$/.exec(line) ?? [];
    if (name === "BEGIN") depth += 1;
    else if (name === "END" && depth-- === 0) break;
    else if (name && !depth) fields[name] ??= { params, value: value.replace(/\\n/gi, "\n").replace(/\\(.)/g, "$1") };
  }
  return fields;
}

// Formats a time: in the browser's time zone, or as written if it has its own zone or none.
function momentOf({ params, value }) {
  const [, year, month, day, hour, minute, isUtc] = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z)?)?$/.exec(value) ?? [];
  if (!year) return value;
  const moment = new Date(Date.UTC(year, month - 1, day, hour ?? 0, minute ?? 0));
  const length = hour ? { dateStyle: "full", timeStyle: "short" } : { dateStyle: "full" };
  const shown = moment.toLocaleString(document.documentElement.lang, { ...length, timeZone: isUtc ? undefined : "UTC" });
  const zone = /;TZID="?([^";:]+)/i.exec(params)?.[1];
  return zone ? `${shown} (${zone})` : shown;
}

function appointment(fields) {
  const { SUMMARY, DTSTART, DTEND, LOCATION, ORGANIZER, DESCRIPTION } = fields;
  const organizer = ORGANIZER && { value: ORGANIZER.value.replace(/^mailto:/i, "") };
  const rows = [[t("Title"), SUMMARY], [t("Start"), DTSTART && { value: momentOf(DTSTART) }], [t("End"), DTEND && { value: momentOf(DTEND) }],
    [t("Location"), LOCATION], [t("Organizer"), organizer], [t("Description"), DESCRIPTION]];
  return created("dl", { tabIndex: 0, className: "appointment" }, ...rows.filter(([, field]) => field?.value.trim())
    .flatMap(([name, { value }]) => [created("dt", { textContent: name }), created("dd", { dir: "auto", textContent: value })]));
}

async function textOf(address) {
  const textContent = await beginning(address, MOST_TEXT);
  if (/^BEGIN:VCALENDAR\s[^]*^BEGIN:VEVENT\s/m.test(textContent ?? "")) return appointment(fieldsOf(textContent));
  return textContent === null ? none() : created("pre", { tabIndex: 0, textContent });
}

// For a file that only calls itself PDF the browser would show an error, and the dialog would get no keys.
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
