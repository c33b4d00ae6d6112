// Shows notifications that arrive while no page is open, and the offline page while the server cannot be reached. It
// stores only that page and its files: no pages of a worker, no email. The server prepends VERSION, FILES (the page
// first), ICON and BADGE.
const CACHE = `offline ${VERSION}`;
const LIST = "/notifications";
const [OFFLINE, ...PARTS] = FILES;

// Omits cookies: the files are the same for everyone.
async function store() {
  const cache = await caches.open(CACHE);
  await cache.addAll(FILES.map((path) => new Request(path, { credentials: "omit", cache: "reload" })));
}

async function activate() {
  for (const name of await caches.keys()) if (name !== CACHE) await caches.delete(name);
  await registration.navigationPreload?.enable(); // the page is requested while this script starts
  await clients.claim();
}

async function pageOrOffline({ request, preloadResponse }) {
  try {
    return (await preloadResponse) ?? (await fetch(request));
  } catch {
    return (await caches.match(OFFLINE)) ?? Response.error();
  }
}

function parsed(data) {
  try {
    const { notification, app_badge: count } = data.json();
    return { ...notification, count };
  } catch {
    return { title: "Helpdesk" };
  }
}

async function show({ title, body, tag, lang, dir, data, count }) {
  const shown = { body, tag: tag ?? "", renotify: Boolean(tag), lang, dir, data, icon: ICON, badge: BADGE };
  await registration.showNotification(title, shown);
  await mark(count);
}

async function mark(count) {
  if (count) await navigator.setAppBadge?.(Number(count));
}

const isOurs = (path) => new URL(path, location).origin === location.origin;

// Focuses the tab that shows the ticket and marks the notification as read. Opens it if there is no such tab.
async function follow({ path = LIST, page = "" }) {
  const target = isOurs(path) ? path : LIST;
  const tabs = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const tab = page && tabs.find(({ url }) => new URL(url).pathname === page);
  if (!tab) return clients.openWindow(target);
  await tab.focus();
  await fetch(target, { redirect: "manual" });
}

addEventListener("install", (event) => event.waitUntil(store().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(activate()));
addEventListener("message", ({ data }) => data === "store" && store());
addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname, origin } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && request.destination === "document") event.respondWith(pageOrOffline(event));
  else if (PARTS.includes(pathname)) event.respondWith(caches.match(pathname).then((part) => part ?? fetch(request)));
});
addEventListener("push", (event) => event.waitUntil(show(parsed(event.data))));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(follow(event.notification.data ?? {}));
});
