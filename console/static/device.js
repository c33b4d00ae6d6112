// Registers service_worker.js for the installed app and notifications, shows the unread number on the icon, and removes
// both with the session.
const bell = document.querySelector(".bell");

async function begin() {
  const registration = await navigator.serviceWorker.register("/service-worker.js", { updateViaCache: "none" });
  const { active } = await navigator.serviceWorker.ready;
  if (!(await caches.keys()).length) active.postMessage("store"); // emptied by a sign-out
  const mark = async () => {
    const count = Number(bell.dataset.unread);
    if (count) return navigator.setAppBadge?.(count);
    for (const each of await registration.getNotifications()) each.close();
    navigator.clearAppBadge?.();
  };
  new MutationObserver(mark).observe(bell, { attributeFilter: ["data-unread"] });
  mark();
}

// Removes caches, notifications and the subscription if nobody is signed in.
async function end() {
  for (const name of await caches.keys()) await caches.delete(name);
  const registration = await navigator.serviceWorker.getRegistration("/");
  if (!registration) return;
  for (const each of await registration.getNotifications()) each.close();
  navigator.clearAppBadge?.();
  await (await registration.pushManager?.getSubscription())?.unsubscribe();
}

if (navigator.serviceWorker) (bell ? begin() : end()).catch(() => {}); // a browser may forbid storage
