// Enhances the contact form of the help center: conditional fields, uploads with progress, articles for the subject,
// and proof of work. The form works without it.

const WAIT = 300; // milliseconds after the last key
const LEAST = 3; // letters
const form = document.querySelector("form[data-contact]");
if (form) begin();

function begin() {
  const embedded = document.body.classList.contains("embedded");
  conditions();
  suggestions();
  uploads();
  sending(proving());
  document.getElementById("problems")?.focus();
  if (embedded && parent !== window) {
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) parent.postMessage("contact-form-close", "*");
    });
  }
}

function conditions() {
  const rows = [...form.querySelectorAll("[data-if]")];
  for (const row of rows) row.querySelector(".hint")?.remove();

  function texts(name) {
    const controls = [...form.elements].filter((each) => (each.name === name || each.name === `${name}[]`) && !each.disabled);
    return controls.filter((each) => each.type !== "checkbox" || each.checked).map((each) => each.value);
  }

  function update() {
    for (const row of rows) {
      const present = texts(row.dataset.if);
      const other = form.elements[row.dataset.if];
      const shown = !other?.disabled && (row.dataset.value === "0" ? !present.includes("1") : present.includes(row.dataset.value));
      row.hidden = !shown;
      for (const control of row.querySelectorAll("input, select, textarea")) {
        control.disabled = !shown;
        if (control.hasAttribute("data-required")) control.required = shown;
      }
    }
  }

  form.addEventListener("change", update);
  update();
}

function suggestions() {
  const field = form.elements.subject;
  const box = form.querySelector("[data-found]");
  let timer = 0;
  let number = 0;

  async function look() {
    const words = field.value.trim();
    const own = ++number;
    let articles = [];
    if (words.length >= LEAST) {
      try {
        const response = await fetch(`${form.dataset.articles}?${new URLSearchParams({ q: words })}`);
        if (response.ok) articles = await response.json();
      } catch {
        articles = [];
      }
    }
    if (own === number) show(articles.slice(0, 4));
  }

  function show(articles) {
    box.replaceChildren();
    if (!articles.length) return;
    const title = document.createElement("p");
    title.textContent = box.dataset.title;
    const list = document.createElement("ul");
    for (const article of articles) {
      const link = document.createElement("a");
      link.href = article.path;
      link.target = "_blank";
      link.rel = "noopener";
      link.dir = "auto";
      link.textContent = article.title;
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    box.append(title, list);
  }

  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, WAIT); });
  if (field.value) look();
}

let uploading = 0;

function uploads() {
  const field = form.elements["files[]"];
  const list = form.querySelector("[data-files]");
  if (!field) return;
  field.addEventListener("change", () => {
    for (const file of field.files) send(file);
    field.value = "";
  });

  function send(file) {
    const item = document.createElement("li");
    const name = document.createElement("span");
    name.dir = "auto";
    name.textContent = file.name;
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", file.name);
    item.append(name, bar);
    list.append(item);
    const request = new XMLHttpRequest();
    const data = new FormData();
    data.append("token", form.elements.token.value);
    data.append("file", file);
    uploading += 1;
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
    request.addEventListener("loadend", () => {
      uploading -= 1;
      bar.remove();
      let result = {};
      try { result = JSON.parse(request.responseText); } catch { result = {}; }
      if (request.status === 200 && result.code) stored(item, file, result.code);
      else failed(item, result.error || list.dataset.failed);
      form.dispatchEvent(new Event("uploaded"));
    });
    request.open("POST", form.dataset.upload);
    request.send(data);
  }

  function stored(item, file, code) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = list.dataset.remove.replace("{name}", file.name);
    button.addEventListener("click", () => {
      const removed = document.createElement("input");
      removed.type = "hidden";
      removed.name = "remove[]";
      removed.value = code;
      form.append(removed);
      item.remove();
      field.focus();
    });
    item.append(button);
  }

  function failed(item, text) {
    const message = document.createElement("span");
    message.className = "error";
    message.setAttribute("role", "alert");
    message.textContent = text;
    item.append(message);
  }
}

// Starts the proof at the first input. Returns a function that resolves once it is done or failed.
function proving() {
  const bits = Number(form.dataset.bits);
  if (!bits) return () => Promise.resolve();
  let proof = null;
  function start() {
    proof ??= new Promise((resolve) => {
      const worker = new Worker(form.dataset.worker);
      worker.addEventListener("message", (event) => { form.elements.proof.value = event.data; worker.terminate(); resolve(); });
      worker.addEventListener("error", () => resolve());
      worker.postMessage({ token: form.elements.token.value, bits });
    });
    return proof;
  }
  form.addEventListener("input", start, { once: true });
  return start;
}

function sending(prove) {
  const button = form.querySelector("button[type=submit]");
  const state = form.querySelector("[data-state]");
  let isReady = false;
  let isSent = false;
  form.addEventListener("submit", async (event) => {
    if (isReady && !isSent) { isSent = true; return; }
    event.preventDefault();
    if (isSent || state.textContent) return;
    state.textContent = button.dataset.waiting;
    await prove();
    while (uploading) await new Promise((resolve) => form.addEventListener("uploaded", resolve, { once: true }));
    await new Promise((resolve) => setTimeout(resolve)); // a form cannot be sent while its submit event is handled
    isReady = true;
    form.requestSubmit(button);
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) { isReady = false; isSent = false; state.textContent = ""; } });
}
