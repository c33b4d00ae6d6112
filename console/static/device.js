// The console as an installed app, and browsers that are notified: the worker of service_worker.js, the number on the
// icon, and their end with the session.
const bell = document.querySelector(".bell");

async function begin() {
  const registration = await navigator.serviceWorker.register("/service-worker.js", { updateViaCache: "none" });
  const { active } = await navigator.serviceWorker.ready;
  if (!(await caches.keys()).length) active.postMessage("store"); // somebody signed out since
  const mark = async () => {
    const count = Number(bell.dataset.unread);
    if (count) return navigator.setAppBadge?.(count);
    for (const each of await registration.getNotifications()) each.close();
    navigator.clearAppBadge?.();
  };
  new MutationObserver(mark).observe(bell, { attributeFilter: ["data-unread"] });
  mark();
}

// Without a session nothing is shown here any more, and nothing is left.
async function end() {
  for (const name of await caches.keys()) await caches.delete(name);
  const registration = await navigator.serviceWorker.getRegistration("/");
  if (!registration) return;
  for (const each of await registration.getNotifications()) each.close();
  navigator.clearAppBadge?.();
  await (await registration.pushManager?.getSubscription())?.unsubscribe();
}

if (navigator.serviceWorker) (bell ? begin() : end()).catch(() => {}); // a browser may forbid storage
