// What scripts say, in the language of the page: the page brings the messages that are not English.
const held = document.getElementById("messages");
const messages = held ? JSON.parse(held.textContent) : {};

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
// A text whose words have several meanings; the context names this one.
export const p = (context, text, values = {}) => filled(messages[`${context}\u0004${text}`] ?? messages[text] ?? text, values);
export const t = (text, values = {}) => filled(messages[text] ?? text, values);
