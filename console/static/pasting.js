// What a clipboard, or what is dropped, has for a message. Spreadsheets and word processors put a picture of the text beside
// it, and file managers the names of the files.
import { all } from "./page.js";

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;
export const isPicture = (file) => PICTURE.test(file.type);

// The elements of HTML from elsewhere, whose styles are data: pages allow none.
export function bodyOf(html) {
  const plain = html.replace(/<style[^]*?<\/style>/gi, "").replace(/<[^>]*>/g, (tag) => tag.replace(/\sstyle\s*=/gi, " data-style="));
  return new DOMParser().parseFromString(plain, "text/html").body;
}

// The rows of a text with cells between tabs; null for another text.
function rowsOf(plain) {
  const rows = plain.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n").map((line) => line.split("\t"));
  const isTable = rows.length > 1 && rows[0].length > 1 && rows.every((row) => row.length === rows[0].length) && rows.some((row) => row[0].trim());
  return isTable ? rows.map((row) => row.map((cell) => cell.trim())) : null;
}

// The rows of HTML that is a table and nothing else; null for any other.
function tableIn(body) {
  all("script", body).forEach((each) => each.remove());
  const table = body.querySelector("table");
  const isOnly = table && !table.querySelector("table") && table.textContent.trim() === body.textContent.trim();
  const rows = isOnly ? [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim())) : [];
  return Math.max(0, ...rows.map((row) => row.length)) > 1 ? rows : null;
}

// One of {files}, {rows}: of a table, {html} and {plain}: texts. isPlain: whether only the plain text is wanted.
export function readClipboard(clipboard, isPlain = false) {
  const files = [...clipboard.files];
  const [plain, html] = [clipboard.getData("text/plain"), clipboard.getData("text/html")];
  if (isPlain) return { plain };
  const names = new Set(files.map((each) => each.name));
  const isNames = files.length && plain.trim().split(/[\r\n]+/).every((line) => names.has(line.split(/[\\/]/).pop()));
  if (plain.trim() && isNames) return { files };
  const body = html && bodyOf(html);
  const rows = (body && tableIn(body)) || rowsOf(plain);
  if (rows) return { rows, html: body && tableIn(body) ? html : "", plain };
  const words = body ? body.textContent.trim() : "";
  if (files.length && !plain.trim() && !words) return { files };
  return { html: words || (body && !plain) ? html : "", plain: plain || words };
}

export const cellsOf = (rows) => rows.map((row) => row.map((cell) => (cell ? [{ text: cell, marks: [] }] : [])));
export const markdownOf = async (rows) => (await import("./markdown.js")).tableOf({ rows: cellsOf(rows) });
