// A file that goes along with an answer, sent as soon as it is chosen.
import { formToken } from "./page.js";
import { t } from "./say.js";

export function attach(form, file, changed) {
  const item = document.createElement("li");
  form.querySelector("[data-attached]").append(item);
  const most = Number(form.dataset.most);
  if (most && file.size > most) {
    return item.replaceChildren(t("{name} is too large: at most {size} MB go along.", { name: file.name, size: Math.floor(most / 2 ** 20) }));
  }
  const bar = Object.assign(document.createElement("progress"), { max: file.size || 1, value: 0 });
  item.append(`${file.name} `, bar);
  const sent = new FormData();
  sent.append("_xsrf", formToken());
  sent.append("file", file, file.name);
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (event) => (bar.value = event.loaded));
  request.addEventListener("loadend", () => {
    let kept = null;
    try {
      kept = request.status === 200 ? JSON.parse(request.responseText) : null;
    } catch {
      // told below
    }
    if (!kept) return item.replaceChildren(t("{name} could not be attached: it may be too large.", { name: file.name }));
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
