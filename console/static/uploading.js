// Shows how much of its files a form has uploaded, then that it waits for the response.
import { all, say } from "./page.js";
import { t } from "./say.js";

const SMALL = 256 * 1024; // bytes that upload quickly
const MB = 2 ** 20;

const megabytes = (bytes) => (bytes / MB).toFixed(1);

// Adds a line on top of the form. Returns a function that shows the bytes sent.
function progress(form, total) {
  const told = document.createElement("p");
  told.className = "note uploading";
  told.setAttribute("role", "status");
  const bar = Object.assign(document.createElement("progress"), { max: total, value: 0 });
  bar.setAttribute("aria-label", t("Upload"));
  const words = document.createElement("span");
  told.append(bar, " ", words);
  form.prepend(told);
  return (sent) => {
    bar.value = sent;
    const values = { sent: megabytes(sent), total: megabytes(total) };
    words.textContent = sent < total ? t("{sent} of {total} MB uploaded", values) : t("Uploaded; waiting for the response");
    if (sent >= total) bar.removeAttribute("value");
  };
}

function upload(form, submitter, total) {
  const show = progress(form, total);
  const end = (words) => {
    form.querySelector(".uploading")?.remove();
    delete form.dataset.sending;
    if (words) say(words);
  };
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (event) => show((event.loaded / (event.total || total)) * total));
  request.addEventListener("loadend", () => {
    const next = request.getResponseHeader("X-Location");
    if (next) return location.assign(next);
    if (!request.status) return end(t("The server does not respond. Nothing you typed is lost; try again."));
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const file = t("The file");
    if (!page.getElementById("main")) return end(t("{name} could not be attached. It may be too large.", { name: file }));
    end("");
    import("./swap.js").then(({ shows }) => shows(page)); // late: console.js sets its order
  });
  request.open("POST", form.action);
  request.setRequestHeader("X-Part", "main");
  show(0);
  request.send(new FormData(form, submitter));
}

addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.enctype !== "multipart/form-data" || form.dataset.writing) return;
  const files = all("input[type=file]", form).flatMap((each) => [...each.files]);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total < SMALL) return;
  event.preventDefault();
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  upload(form, event.submitter, total);
});
