// The bell and the title tell what is unread now. Of all pages that a worker has open, one asks and tells the others: a
// browser has few connections to a site. Without locks (plain http), pages ask while they are seen.
const PATH = "/notifications/unread";
const bell = document.querySelector(".bell");
const name = `bell ${document.documentElement.dataset.worker}`;
const MARK = /^\([\p{Nd}\p{P}\s]+?\) /u; // before the title, from here or from the page

function put(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector(".bell");
  bell.replaceChildren(...fresh.childNodes);
  bell.ariaLabel = fresh.ariaLabel;
  bell.dataset.unread = fresh.dataset.unread;
  const number = bell.querySelector(".number");
  document.title = (number ? `(${number.textContent}) ` : "") + document.title.replace(MARK, "");
}

if (bell) {
  const others = new BroadcastChannel(name);
  let stream = null;
  async function look() {
    const answer = await fetch(PATH, { redirect: "error", headers: { "X-Live": "1" } }).catch(() => null);
    if (!answer?.ok) return;
    const { html } = await answer.json();
    put(html);
    others.postMessage(html);
  }
  function follow() {
    stream = new EventSource(`${PATH}?since=${bell.dataset.unread}`);
    stream.addEventListener("message", look);
    stream.addEventListener("end", ({ data }) => /UNAUTH|PERM/.test(data) && stream.close()); // of the login
  }
  others.addEventListener("message", ({ data }) => put(data));
  if (navigator.locks) navigator.locks.request(name, () => new Promise(follow));
  else {
    const seen = () => (stream?.close(), document.hidden || follow());
    document.addEventListener("visibilitychange", seen);
    seen();
  }
}
