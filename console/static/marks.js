// Puts signs of Markdown in a box, for buttons and keys. Replaces text as if it was typed, so that undo works.
export function marks(text, changed = () => {}) {
  function replace(words, from, to) {
    text.focus();
    text.setSelectionRange(from, to);
    document.execCommand(words ? "insertText" : "delete", false, words);
  }
  function wrap(sign, end = sign) {
    const [from, to] = [text.selectionStart, text.selectionEnd];
    replace(sign + text.value.slice(from, to) + end, from, to);
    if (from === to) text.selectionStart = text.selectionEnd = from + sign.length;
    changed();
  }
  function line(sign) {
    const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
    const lines = text.value.slice(from, text.selectionEnd).split("\n").map((each) => sign + each);
    replace(lines.join("\n"), from, text.selectionEnd);
    changed();
  }
  const put = (words) => (replace(words, text.selectionStart, text.selectionEnd), changed());
  return { replace, wrap, line, put, link: () => wrap("[", "](https://)") };
}

// Runs the act of a toolbar button in a box.
export function click({ target }, box) {
  const { wrap, line, link, snippet } = target.closest("button")?.dataset ?? {};
  if (wrap) box.wrap(wrap);
  else if (line) box.line(line);
  else if (link !== undefined) box.link();
  else if (snippet !== undefined) box.snippet();
}

// Runs the act of a key in a box.
export function press(event, box) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  const act = { b: () => box.wrap("**"), i: () => box.wrap("*"), k: box.link }[event.key];
  if (act) (event.preventDefault(), event.stopPropagation(), act());
}
