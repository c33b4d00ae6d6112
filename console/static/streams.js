// Shares one stream of events between all windows of a browser, which allows few connections to a site: the window that
// holds a lock leads and passes events on; when it closes, the next window gets the lock. Without locks (plain http) or
// channels each window opens its own streams.
const name = `streams ${document.documentElement.dataset.worker}`;
const AGAIN = 3000; // milliseconds before a cut stream is reopened; doubles up to LONGEST
const LONGEST = 60_000;
const SOON = 50; // milliseconds in which all wishes open one stream
const MOST = 6000; // maximum characters of an address
const canShare = Boolean(navigator.locks && self.BroadcastChannel);
const own = new Map(); // by address: its followers, [{last, handlers}]
let channel = null;
let lead = null;
let id = "";
let isAlive = false; // whether our lock is held

// Follows the events of an address: message(data), open(), error(isOver). Returns an object with close().
export function follow(address, handlers) {
  if (!canShare) return alone(address, handlers);
  start();
  const followed = { last: "", handlers };
  const all = own.get(address) ?? [];
  own.set(address, [...all, followed]);
  wish();
  return {
    close() {
      const left = (own.get(address) ?? []).filter((each) => each !== followed);
      if (left.length) own.set(address, left);
      else own.delete(address);
      wish();
    },
  };
}

function alone(address, { message, open, error }) {
  const stream = new EventSource(address);
  stream.addEventListener("message", ({ data }) => message?.(JSON.parse(data)));
  stream.addEventListener("open", () => open?.());
  stream.addEventListener("error", () => error?.(stream.readyState === EventSource.CLOSED));
  stream.addEventListener("end", ({ data }) => /UNAUTH|PERM/.test(data) && stream.close());
  return stream;
}

function start() {
  if (channel) return;
  channel = new BroadcastChannel(name);
  id = crypto.randomUUID();
  channel.addEventListener("message", ({ data }) => hear(data));
  navigator.locks.request(`${name} ${id}`, () => { // held while the window lives; the leader waits for its release
    isAlive = true;
    wish();
    return new Promise(() => {});
  });
  navigator.locks.request(name, () => new Promise(() => {
    lead = new Lead();
    tell({ kind: "led" });
  }));
  addEventListener("pagehide", () => tell({ kind: "wish", window: id, feeds: [] }));
  addEventListener("pageshow", ({ persisted }) => persisted && wish());
}

// A channel does not deliver to its own sender.
function tell(told) {
  channel.postMessage(told);
  hear(told);
}

const wish = () => isAlive && tell({
  kind: "wish", window: id, feeds: [...own].map(([address, all]) => [address, all.some(({ last }) => !last) ? "" : all[0].last]),
});

function hear(told) {
  if (told.kind === "wish") lead?.wish(told);
  else if (told.kind === "led") wish();
  else for (const followed of own.get(told.address) ?? []) {
    const { message, open, error } = followed.handlers;
    if (told.kind === "open") open?.();
    else if (told.kind === "error") error?.(told.isOver);
    else if (told.id !== followed.last) {
      followed.last = told.id;
      message?.(told.data);
    }
  }
}

class Lead {
  windows = new Map(); // by window: its feeds by address
  streams = [];
  ended = new Set(); // addresses that the server does not allow
  timer = 0;
  wait = AGAIN;
  opened = "";
  isNew = false; // whether a window has added an address

  wish({ window, feeds }) {
    if (!this.windows.has(window) && window !== id) {
      navigator.locks.request(`${name} ${window}`, () => (this.windows.delete(window), this.soon()));
    }
    const before = this.windows.get(window);
    this.windows.set(window, new Map(feeds));
    for (const [address] of feeds.filter(([each]) => !before?.has(each))) {
      this.ended.delete(address);
      this.isNew = true;
    }
    this.soon();
  }

  soon(milliseconds = SOON) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), milliseconds);
  }

  // Returns {address: the last event that all windows have, "" if one has none}.
  feeds() {
    const found = new Map();
    for (const feeds of this.windows.values()) {
      for (const [address, last] of feeds) {
        if (!this.ended.has(address)) found.set(address, found.get(address) === "" ? "" : last);
      }
    }
    return found;
  }

  open(isAgain = false) {
    const feeds = this.feeds();
    const wanted = [...feeds.keys()].sort().join("\n");
    if (wanted === this.opened && !isAgain && !this.isNew) return;
    this.opened = wanted;
    this.isNew = false;
    for (const each of this.streams.splice(0)) each.close();
    let part = [];
    let length = 0;
    for (const [address, last] of feeds) {
      const text = encodeURIComponent(`${last} ${address}`);
      if (length + text.length > MOST) (this.stream(part), (part = []), (length = 0));
      part.push([address, text]);
      length += text.length;
    }
    if (part.length) this.stream(part);
  }

  stream(part) {
    const stream = new EventSource(`/-/stream?${part.map(([, text]) => `feed[]=${text}`).join("&")}`);
    this.streams.push(stream);
    const each = (told) => part.forEach(([address]) => tell({ ...told, address }));
    stream.addEventListener("open", () => {
      this.wait = AGAIN;
      each({ kind: "open" });
    });
    stream.addEventListener("message", ({ data }) => {
      const { feed, end, ...told } = JSON.parse(data);
      const [address] = part[Number(feed)];
      if (!end) {
        for (const feeds of this.windows.values()) if (feeds.has(address)) feeds.set(address, told.id);
        return tell({ kind: "news", address, ...told });
      }
      this.ended.add(address);
      tell({ kind: "error", address, isOver: true });
    });
    stream.addEventListener("error", () => { // its own retry would resume at an old event
      stream.close();
      each({ kind: "error", isOver: false });
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.open(true), this.wait);
      this.wait = Math.min(this.wait * 2, LONGEST);
    });
  }
}
