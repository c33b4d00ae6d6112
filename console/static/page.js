// Small words that the other parts share.
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Frames are as high as their mail. Their module comes with the first of them.
export function fitFrames(root) {
  const frames = all("[data-fit]", root);
  if (frames.length) import("./frames.js").then(({ fitted }) => frames.forEach(fitted), () => null);
}

// What a module adds to a page, it adds to each part that comes later as well.
const additions = [];
export function enhance(add) {
  additions.push(add);
  add(document);
}
export const enhanced = (root) => additions.forEach((add) => add(root));

export function say(text) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = text;
  show(toast, 6000);
}

// A message for so many milliseconds in which nobody points at it or has the focus in it.
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

// The same function, once it was not called for a while.
export function calmly(work, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}

export const isTyping = (element) =>
  element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

export function formToken() {
  return document.querySelector("input[name=_xsrf]")?.value ?? "";
}

// Follows the feed of a page once streams.js is there, which nothing waits for that is seen first. Ends with close().
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

// A question to a page that answers JSON, as our own form would ask it; null when there is no answer.
export async function ask(path, fields) {
  try {
    const answer = await fetch(path, { method: "POST", body: new URLSearchParams([...(fields.map ? fields : Object.entries(fields)), ["_xsrf", formToken()]]) });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}
