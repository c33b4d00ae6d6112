// Converts Markdown to the blocks of rich text and back: paragraphs, bold, italic, code, links, pictures, lists,
// quotes, tables, and with hasHeadings, headings of levels 2 and 3. Any other text comes back changed: see isRich().
//
// A text is a list of blocks: {type: "p", runs}, {type: "list", isOrdered, start, mark, items}, {type: "quote",
// blocks}, {type: "code", text, info}, {type: "table", rule, rows}, {type: "heading", level, runs}. isTight: no blank
// line above. Runs are pieces of a line with marks, outermost first: {text}, {code}, {src, alt}, {isBreak}; a mark
// is "strong", "em" or "a:<address>".
const ESCAPED = /^\\([!-/:-@[-`{-~])/;
const CODE = /^(`+)(?!`)([^]*?[^`])\1(?!`)/;
const BARE = /^https?:\/\/[^\s<]+/;
const AUTO = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/;
const PICTURE = /^!\[((?:\\.|[^\\\[\]\n])*)\]\(([^\s()<>]+)\)/;
const LINK = /^\[((?:\\.|!\[[^\]]*\]\([^\s()]*\)|[^\\\[\]])+)\]\(((?:https?:\/\/|mailto:)[^\s()<>]+)\)/i;
const FENCE = /^(`{3,})([^`]*)$/;
const ITEM = /^([-*+]|\d{1,9}[.)]) (?=\S)/;
const HEADING = /^(#{2,3}) (?=\S)(?!.*(?:\s|^)#+$)/;
const RULE = /^\|(?: *:?-+:? *\|)+$/;
const word = /[\p{L}\p{N}]/u;
const mark = /[\p{P}\p{S}]/u;

// -- parsing ----------------------------------------------------------------------------------------------------------

// Returns where emphasis opened by so many stars before start ends; -1 if it does not.
function closing(text, start, stars) {
  for (let at = start; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "`") at += (CODE.exec(text.slice(at))?.[0].length ?? 1) - 1;
    else if (text[at] === "*") {
      const length = /^\*+/.exec(text.slice(at))[0].length;
      const [before, after] = [text[at - 1], text[at + length] ?? " "];
      const ends = at > start && /\S/.test(before) && !(mark.test(before) && word.test(after));
      if (ends && (length === stars || (length === 3 && stars < 3))) return at + length - stars;
      at += length - 1;
    }
  }
  return -1;
}

export function runsOf(text, marks = []) {
  const runs = [];
  let plain = "";
  const add = (...more) => {
    if (plain) runs.push({ text: plain, marks });
    plain = "";
    runs.push(...more);
  };
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    let found;
    if ((found = ESCAPED.exec(rest))) plain += found[1];
    else if ((found = CODE.exec(rest))) {
      const code = found[2].replaceAll("\n", " ");
      add({ code: /^ .* $/.test(code) && code.trim() ? code.slice(1, -1) : code, marks });
    } else if ((found = BARE.exec(rest))) plain += found[0];
    else if ((found = AUTO.exec(rest))) add({ text: found[1], marks: [...marks, `a:${found[1]}`], isAuto: true });
    else if ((found = PICTURE.exec(rest))) add({ src: found[2], alt: found[1].replace(/\\([!-/:-@[-`{-~])/g, "$1"), marks });
    else if ((found = LINK.exec(rest)) && !marks.some((each) => each.startsWith("a:"))) add(...runsOf(found[1], [...marks, `a:${found[2]}`]));
    else if (rest[0] === "*") {
      const stars = /^\*+/.exec(rest)[0];
      const after = rest[stars.length] ?? " ";
      const begins = stars.length < 4 && /\S/.test(after) && !(mark.test(after) && word.test(text[at - 1] ?? " "));
      const end = begins ? closing(text, at + stars.length, stars.length) : -1;
      found = [stars];
      if (end < 0) plain += stars;
      else {
        add(...runsOf(text.slice(at + stars.length, end), [...marks, ...["em", "strong"].slice(stars.length % 2 ? 0 : 1, stars.length === 1 ? 1 : 2)]));
        at = end;
      }
    } else if (rest[0] === "\n") {
      found = ["\n"];
      add({ isBreak: true, marks });
    } else {
      found = [rest[0]];
      plain += rest[0];
    }
    at += found[0].length;
  }
  add();
  return runs;
}

const cellsOf = (line) => line.slice(1, -1).split(/(?<=(?<!\\)(?:\\\\)*)\|/).map((cell) => runsOf(cell.trim().replaceAll("\\|", "|")));

// Parses the first block of lines: [block, number of lines].
function blockOf(lines, hasHeadings) {
  const [first, second] = lines;
  const heading = hasHeadings && HEADING.exec(first);
  if (heading) return [{ type: "heading", level: heading[1].length, runs: runsOf(first.slice(heading[0].length)) }, 1];
  const fence = FENCE.exec(first);
  if (fence) {
    const end = lines.findIndex((line, at) => at && line.trim() === fence[1]);
    if (end > 0) return [{ type: "code", info: fence[2], text: lines.slice(1, end).join("\n") }, end + 1];
  }
  if (/^>/.test(first)) {
    const count = lines.findIndex((line) => !/^>/.test(line));
    const quoted = count < 0 ? lines : lines.slice(0, count);
    return [{ type: "quote", blocks: blocksOf(quoted.map((line) => line.replace(/^> ?/, ""))) }, quoted.length];
  }
  const item = ITEM.exec(first);
  if (item) return listOf(lines, item[1]);
  if (/^\|.+\|$/.test(first) && RULE.test(second ?? "")) {
    const end = lines.findIndex((line) => !/^\|.*\|$/.test(line));
    const rows = lines.slice(0, end < 0 ? lines.length : end);
    return [{ type: "table", rule: second, rows: [rows[0], ...rows.slice(2)].map(cellsOf) }, rows.length];
  }
  const interrupts = (line) => !line || /^(>|`{3,}[^`]*$|([-*+]|1[.)]) \S)/.test(line) || (hasHeadings && HEADING.test(line));
  const end = lines.findIndex((line, at) => at && interrupts(line));
  const own = end < 0 ? lines : lines.slice(0, end);
  return [{ type: "p", runs: runsOf(own.join("\n")) }, own.length];
}

function listOf(lines, first) {
  const isOrdered = /\d/.test(first);
  const list = { type: "list", isOrdered, start: isOrdered ? parseInt(first, 10) : 1, mark: first.at(-1), items: [] };
  let at = 0;
  for (let item; at < lines.length && (item = ITEM.exec(lines[at])) && item[1].at(-1) === list.mark && /\d/.test(item[1]) === isOrdered;) {
    const own = [lines[at].slice(item[0].length)];
    const blanks = " ".repeat(item[0].length);
    for (at += 1; at < lines.length && lines[at].startsWith(blanks); at++) own.push(lines[at].slice(blanks.length));
    list.items.push(blocksOf(own));
  }
  return [list, at];
}

function blocksOf(lines, hasHeadings = false) {
  const blocks = [];
  let isBegun = false;
  for (let at = 0; at < lines.length;) {
    let blanks = 0;
    while (at + blanks < lines.length && !lines[at + blanks]) blanks += 1;
    at += blanks;
    const isOver = at === lines.length;
    for (let count = isBegun && !isOver ? blanks - 1 : blanks; count > 0; count--) blocks.push({ type: "p", runs: [] });
    if (isOver) break;
    const [block, length] = blockOf(lines.slice(at), hasHeadings);
    const before = isBegun && !blanks ? blocks.at(-1).type : "";
    block.isTight = before === "heading" || (before === "p" && block.type !== "p" && block.type !== "table");
    blocks.push(block);
    isBegun = true;
    at += length;
  }
  return blocks;
}

export const fromMarkdown = (text, hasHeadings = false) => blocksOf(text.replace(/\r\n?/g, "\n").split("\n"), hasHeadings);

// -- writing ----------------------------------------------------------------------------------------------------------

// Escapes a piece of plain text, so that nothing is Markdown. all: the plain text of the block.
function escaped(text, all) {
  const [stars, ticks] = ["*", "`"].map((sign) => all.split(sign).length > 2);
  return text.split(/(https?:\/\/[^\s<]+)/).map((piece, at) => at % 2 ? piece : piece
    .replace(/\\(?=[!-/:-@[-`{-~]|$)/g, "\\\\")
    .replace(/&(?=#?\w+;)|<(?=[A-Za-z/!?])|~(?=~)|\[(?=[^\]]*\][(:[])/g, "\\$&")
    .replace(/`/g, ticks ? "\\`" : "`")
    .replace(/(?<!\s)\*|\*(?!\s)/g, stars ? "\\*" : "*")
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\_")).join("");
}

function codeOf(code) {
  const longest = Math.max(0, ...(code.match(/`+/g) ?? []).map((each) => each.length));
  const fence = "`".repeat(longest === 1 ? 2 : longest ? longest + 1 : 1);
  const pad = /^`|`$|^ .* $/.test(code) ? " " : "";
  return fence + pad + code + pad + fence;
}

function leaf(run, all, isLast) {
  if (run.isBreak) return "\n";
  if (run.code !== undefined) return codeOf(run.code);
  if (run.src) return `![${run.alt.replace(/[[\]\\]/g, "\\$&")}](${run.src})`;
  const text = escaped(run.text, all);
  return isLast && run.marks.length ? text.replace(/(https?:\/\/[^\s<]+)$/, "<$1>") : text;
}

// Puts stars next to words, or none where Markdown would not read them.
function emphasized(stars, inner, before, after) {
  const [, head, , tail] = /^(\s*)([^]*?)(\s*)$/.exec(inner);
  let core = inner.slice(head.length, inner.length - tail.length);
  let end = "";
  if (word.test(after) && !tail && mark.test(core.at(-1) ?? "")) [, core, end] = /^([^]*?)((?:[^\p{L}\p{N}\s)`*>]*))$/u.exec(core);
  const isBroken = !core || (word.test(after) && !tail && !end && mark.test(core.at(-1))) || (word.test(before) && !head && mark.test(core[0]));
  return isBroken ? inner : head + stars + core + stars + end + tail;
}

function write(runs, all, open = [], after = " ") {
  let words = "";
  for (let at = 0; at < runs.length;) {
    const left = runs[at].marks.filter((each) => !open.includes(each));
    if (!left.length) {
      const isSign = runs[at].text?.endsWith("!") && runs[at + 1] && (runs[at + 1].src || runs[at + 1].marks.some((each) => each.startsWith("a:")));
      const piece = leaf(runs[at], all, at === runs.length - 1);
      words += isSign ? `${piece.slice(0, -1)}\\!` : piece;
      at += 1;
      continue;
    }
    const ends = left.map((each) => runs.findIndex((run, place) => place > at && !run.marks.includes(each))).map((end) => end < 0 ? runs.length : end);
    const most = Math.max(...ends);
    const outer = left[ends.indexOf(most)];
    const part = runs.slice(at, most);
    const next = runs[most]?.text?.[0] ?? (runs[most] ? " " : after);
    if (!outer.startsWith("a:")) words += emphasized(outer === "em" ? "*" : "**", write(part, all, [...open, outer], next), words.at(-1) ?? " ", next);
    else if (part.length === 1 && part[0].isAuto && part[0].text === outer.slice(2)) words += `<${outer.slice(2)}>`;
    else words += `[${write(part, all, [...open, outer])}](${outer.slice(2)})`;
    at = most;
  }
  return words;
}

const LINE = /^( {0,3})(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|=+\s*$|-(?!-\s*$)-*\s*$|\|?\s*:?-+:?\s*\|)/;
function lineOf(runs) {
  const all = runs.map((run) => run.text ?? (run.code === undefined ? "" : "``")).join("") + (runs.some((run) => /strong|em/.test(run.marks)) ? "**" : "");
  return write(joined(runs), all);
}
const paragraphOf = (runs) => lineOf(runs).replace(/^\s+|\n+$/g, "").split("\n")
  .map((line) => line.replace(LINE, "$1\\").replace(/^( {0,3}\d{1,9})(?=[.)](?:\s|$))/, "$1\\")).join("\n");

// Joins adjacent texts with equal marks.
function joined(runs) {
  const all = [];
  for (const run of runs) {
    const last = all.at(-1);
    if (run.text !== undefined && last?.text !== undefined && String(last.marks) === String(run.marks)) all[all.length - 1] = { ...last, text: last.text + run.text };
    else all.push(run);
  }
  return all;
}

const oneLineOf = (runs) => lineOf(runs.map((run) => run.isBreak ? { text: " ", marks: run.marks } : run)).trim();
const cellOf = (runs) => oneLineOf(runs).replaceAll("|", "\\|");
export function tableOf({ rows, rule }) {
  const width = Math.max(...rows.map((row) => row.length));
  const [head, ...body] = rows.map((row) => `| ${Array.from({ length: width }, (_, at) => cellOf(row[at] ?? [])).join(" | ")} |`);
  return [head, rule?.split("|").length === width + 2 ? rule : `|${" --- |".repeat(width)}`, ...body].join("\n");
}

function itemsOf({ items, isOrdered, start, mark: sign }) {
  return items.map((blocks, at) => {
    const head = isOrdered ? `${start + at}${sign === ")" ? ")" : "."} ` : `${/[*+]/.test(sign) ? sign : "-"} `;
    return head + toMarkdown(blocks.map((each) => ({ ...each, isTight: true }))).replaceAll("\n", `\n${" ".repeat(head.length)}`);
  }).join("\n");
}

const WRITERS = {
  p: ({ runs }) => paragraphOf(runs),
  list: itemsOf,
  quote: ({ blocks }) => toMarkdown(blocks).split("\n").map((line) => line ? `> ${line}` : ">").join("\n"),
  code({ text, info = "" }) {
    const fence = "`".repeat(Math.max(3, ...(text.match(/^`+/gm) ?? []).map((each) => each.length + 1)));
    return `${fence}${info}\n${text}\n${fence}`;
  },
  table: tableOf,
  heading({ level, runs }) {
    const text = oneLineOf(runs).replace(/(^|\s)(#+)$/, "$1\\$2");
    return text && `${"#".repeat(level)} ${text}`;
  },
};

export function toMarkdown(blocks) {
  let words = "";
  let isBegun = false;
  let blanks = 0;
  for (const block of blocks) {
    const text = WRITERS[block.type](block);
    if (!text) {
      blanks += 1;
      continue;
    }
    if (isBegun) words += block.isTight && !blanks ? "\n" : "\n\n";
    words += "\n".repeat(blanks) + text;
    isBegun = true;
    blanks = 0;
  }
  return words + "\n".repeat(isBegun ? blanks : Math.max(0, blanks - 1));
}

// Returns whether a text survives rich text unchanged.
const MOST = 100_000; // characters that are parsed while a worker types
export const isRich = (text, hasHeadings = false) =>
  text.length <= MOST && toMarkdown(fromMarkdown(text, hasHeadings)) === text.replace(/\r\n?/g, "\n");
