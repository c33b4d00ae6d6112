// Uploads an attachment as soon as it is chosen.
import { formToken, say } from "./page.js";
import { isPicture } from "./pasting.js";
import { t } from "./say.js";

const uploads = new WeakMap(); // running uploads, by form

// A form sent before its uploads end would lose them.
addEventListener("submit", (event) => {
  if (!uploads.get(event.target)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  say(t("Files are still being uploaded. Send again when they are done."));
}, true);

// Uploads a file and lists it in the form. isInline: shows a picture in the text instead.
export function attach(form, file, changed, isInline = false) {
  const item = document.createElement("li");
  form.querySelector("[data-attached]").append(item);
  const most = Number(form.dataset.most);
  if (most && file.size > most) {
    return item.replaceChildren(t("{name} is too large: attachments can have at most {size} MB.", { name: file.name, size: Math.floor(most / 2 ** 20) }));
  }
  const bar = Object.assign(document.createElement("progress"), { max: file.size || 1, value: 0 });
  bar.setAttribute("aria-label", t("Upload"));
  const share = Object.assign(document.createElement("span"), { className: "muted" });
  item.append(`${file.name} `, bar, " ", share);
  uploads.set(form, (uploads.get(form) ?? 0) + 1);
  const sent = new FormData();
  sent.append("_xsrf", formToken());
  sent.append("file", file, file.name);
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (event) => {
    bar.value = event.loaded;
    share.textContent = `${Math.min(Math.floor((event.loaded / (event.total || 1)) * 100), 100)} %`;
  });
  request.addEventListener("loadend", () => {
    uploads.set(form, uploads.get(form) - 1);
    let kept = null;
    try {
      kept = request.status === 200 ? JSON.parse(request.responseText) : null;
    } catch {
      // reported below
    }
    if (!request.status) return item.replaceChildren(t("{name} could not be attached: the server does not respond.", { name: file.name }));
    if (!kept) return item.replaceChildren(t("{name} could not be attached. It may be too large.", { name: file.name }));
    if (isInline && isPicture(file) && form.put) {
      item.remove();
      return form.put(`![${kept.name.replace(/\.\w+$/, "").replace(/[[\]\\]/g, "\\$&")}](${kept.url})`);
    }
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "file_id[]", value: kept.id, checked: true });
    label.append(box, ` ${kept.name}`);
    item.replaceChildren(label);
    form.dispatchEvent(new Event("change"));
    changed();
  });
  request.open("POST", form.dataset.files);
  request.send(sent);
}
