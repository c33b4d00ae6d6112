// Reads a clipboard, or dropped data, for a message. Spreadsheets and word processors add a picture of the text, file
// managers the names of the files.
import { all } from "./page.js";

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;
export const isPicture = (file) => PICTURE.test(file.type);

// Returns the body of foreign HTML. Pages forbid styles, so these become data-style.
export function bodyOf(html) {
  const plain = html.replace(/<style[^]*?<\/style>/gi, "").replace(/<[^>]*>/g, (tag) => tag.replace(/\sstyle\s*=/gi, " data-style="));
  return new DOMParser().parseFromString(plain, "text/html").body;
}

// Returns the rows of a text with tabs between cells; null for other text.
function rowsOf(plain) {
  const rows = plain.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n").map((line) => line.split("\t"));
  const isTable = rows.length > 1 && rows[0].length > 1 && rows.every((row) => row.length === rows[0].length) && rows.some((row) => row[0].trim());
  return isTable ? rows.map((row) => row.map((cell) => cell.trim())) : null;
}

// Returns the rows of HTML that is only a table; null for other HTML.
function tableIn(body) {
  all("script", body).forEach((each) => each.remove());
  const table = body.querySelector("table");
  const isOnly = table && !table.querySelector("table") && table.textContent.trim() === body.textContent.trim();
  const rows = isOnly ? [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim())) : [];
  return Math.max(0, ...rows.map((row) => row.length)) > 1 ? rows : null;
}

// Returns {files}, {rows, html, plain} for a table, or {html, plain}; if isPlain, only {plain}.
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
