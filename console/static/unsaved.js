// Stores replies that the server does not have yet in this browser.

const OWN = new Set(["_xsrf", "draft", "revision", "seen", "files[]"]); // fields that belong to one page
const keyOf = (form) => `reply:${document.documentElement.dataset.worker}:${form.dataset.writing}:${form.elements.kind?.value ?? ""}`;

export function store(form) {
  const fields = [...new FormData(form)].filter(([name, value]) => !OWN.has(name) && typeof value === "string");
  try {
    localStorage.setItem(keyOf(form), JSON.stringify({ fields, revision: form.elements.revision.value }));
  } catch {
    // storage is full or forbidden; the page still has the text
  }
}

export const forget = (form) => localStorage.removeItem(keyOf(form));

// Restores a reply that the server never received, below a newer draft from elsewhere.
export function restore(form) {
  const stored = JSON.parse(localStorage.getItem(keyOf(form)) ?? "null");
  const text = form.elements.content;
  const words = stored?.fields.find(([name]) => name === "content")?.[1];
  if (!words || words === text.value) return (forget(form), false);
  const isNewer = form.elements.revision.value && form.elements.revision.value !== stored.revision;
  for (const [name, value] of isNewer ? [] : stored.fields) {
    const field = form.elements[name];
    if (field?.matches?.("input:not([type=checkbox], [type=radio], [type=hidden]), select, textarea")) field.value = value;
  }
  if (isNewer && !text.value.includes(words)) text.value = `${text.value.trimEnd()}\n\n${words}`;
  return true;
}
