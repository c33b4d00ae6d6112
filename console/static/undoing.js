// Undoes changes of an editor whose elements scripts change as well, which the undo of browsers does not cover.
const MOST = 200; // steps
const PAUSE = 1000; // milliseconds without a key after which a step begins

// Returns the way from an element to a place in it: indexes of children, then the offset.
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
    // Records the state before a change. Changes of one type within a second are one step, up to the end of a word.
    record(type = "", data = "") {
      const now = performance.now();
      const isMore = type && type === last.type && now - last.at < PAUSE && data !== " ";
      last = { type, at: now };
      if (isMore) return;
      before = [...before.slice(1 - MOST), state()];
      after = [];
    },
    // Undoes a step, or redoes it. Returns whether there was one.
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
