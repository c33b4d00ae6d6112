// Shares small functions with other modules.
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Fits frames to their email. The module is loaded with the first frame.
export function fitFrames(root) {
  const frames = all("[data-fit]", root);
  if (frames.length) import("./frames.js").then(({ fitted }) => frames.forEach(fitted), () => null);
}

// Calls add(root) for the page, and for each part that is loaded later.
const additions = [];
export function enhance(add) {
  additions.push(add);
  add(document);
}
export const enhanced = (root) => additions.forEach((add) => add(root));

// Shows a text as a toast.
export function say(text) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = text;
  show(toast, 6000);
}

// Shows a toast, and removes it after so many milliseconds without pointer or focus.
export function show(toast, milliseconds) {
  document.getElementById("toasts").append(toast);
  let timer = 0;
  toast.dataset.until = Date.now() + milliseconds;
  const start = () => {
    clearTimeout(timer);
    if (!toast.matches(":hover, :focus-within")) timer = setTimeout(() => toast.remove(), milliseconds);
  };
  const stop = () => clearTimeout(timer);
  for (const name of ["pointerenter", "focusin"]) toast.addEventListener(name, stop);
  for (const name of ["pointerleave", "focusout"]) toast.addEventListener(name, () => setTimeout(start));
  start();
}

export const isPlain = (event) => !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);

// Returns a debounced function, which runs once calls have paused.
export function calmly(work, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}

// Returns a function that runs work soon after its first three calls, and once in so many milliseconds while calls go on:
// every open console reacts to the changes of all others.
export function paced(work, milliseconds) {
  let timer = 0;
  let spent = 0; // when three more may be soon
  return () => {
    if (timer) return;
    const now = performance.now();
    spent = Math.max(spent, now);
    timer = setTimeout(() => {
      timer = 0;
      work();
    }, Math.max(500 + Math.random() * 500, spent - 2 * milliseconds - now));
    spent += milliseconds;
  };
}

export const isTyping = (element) =>
  element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

export function formToken() {
  return document.querySelector("input[name=_xsrf]")?.value ?? "";
}

// Follows a stream. streams.js is loaded late, as the first view does not need it. Returns {close()}.
export function follow(address, handlers) {
  let stream = null;
  let isClosed = false;
  import("./streams.js").then((each) => isClosed || (stream = each.follow(address, handlers)), () => isClosed || handlers.error?.(true));
  return {
    close() {
      isClosed = true;
      stream?.close();
    },
  };
}

// Posts fields (pairs or an object) as our forms do. Returns the JSON, null on failure.
export async function ask(path, fields) {
  try {
    const answer = await fetch(path, { method: "POST", body: new URLSearchParams([...(fields.map ? fields : Object.entries(fields)), ["_xsrf", formToken()]]) });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}
