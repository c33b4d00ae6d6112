// What was written before, for an editor whose elements scripts change as well, which the undo of a browser does not know.
const MOST = 200; // steps
const PAUSE = 1000; // milliseconds without a key, after which a step begins

// The way from an element down to a place in it: numbers of children, and the place.
function wayTo(root, node, offset) {
  const way = [offset];
  for (let each = node; each !== root; each = each.parentNode) way.unshift([...each.parentNode.childNodes].indexOf(each));
  return way;
}
function placeAt(root, way) {
  let node = root;
  for (const at of way.slice(0, -1)) node = node.childNodes[at] ?? node;
  return [node, Math.min(way.at(-1), node.nodeType === Node.TEXT_NODE ? node.length : node.childNodes.length)];
}

export function history(editor) {
  let before = [];
  let after = [];
  let last = { type: "", at: 0 };

  function state() {
    const { anchorNode, anchorOffset, focusNode, focusOffset } = getSelection();
    const isInside = editor.contains(anchorNode) && editor.contains(focusNode);
    const ways = isInside ? [wayTo(editor, anchorNode, anchorOffset), wayTo(editor, focusNode, focusOffset)] : null;
    return { nodes: [...editor.childNodes].map((each) => each.cloneNode(true)), ways };
  }
  return {
    // Before a change: one of a kind that follows another within a second belongs to it, up to the end of a word.
    record(type = "", data = "") {
      const now = performance.now();
      const isMore = type && type === last.type && now - last.at < PAUSE && data !== " ";
      last = { type, at: now };
      if (isMore) return;
      before = [...before.slice(1 - MOST), state()];
      after = [];
    },
    // Goes a step back, or forth again. Returns whether there was one.
    go(isForth) {
      const [from, to] = isForth ? [after, before] : [before, after];
      const step = from.pop();
      if (!step) return false;
      to.push(state());
      last = { type: "", at: 0 };
      editor.replaceChildren(...step.nodes);
      if (step.ways) getSelection().setBaseAndExtent(...placeAt(editor, step.ways[0]), ...placeAt(editor, step.ways[1]));
      return true;
    },
  };
}
