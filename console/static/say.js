// Translates messages of scripts. A page that is not in English contains their translations.
const held = document.getElementById("messages");
const messages = held ? JSON.parse(held.textContent) : {};

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
// Translates a text with several meanings; context names one of them.
export const p = (context, text, values = {}) => filled(messages[`${context}\u0004${text}`] ?? messages[text] ?? text, values);
export const t = (text, values = {}) => filled(messages[text] ?? text, values);
