// Suggests articles while a visitor types a search. Without this script the field is a plain form.

const WAIT = 150; // milliseconds after the last key
const LEAST = 2; // letters

for (const form of document.querySelectorAll("form[data-suggest]")) {
  suggest(form, form.querySelector("input[type=search]"));
}

function suggest(form, field) {
  const list = document.createElement("ul");
  list.className = "suggestions";
  list.id = `${field.id}-list`;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", field.labels[0].textContent);
  list.hidden = true;
  form.append(list);
  for (const [name, value] of [["role", "combobox"], ["aria-controls", list.id], ["aria-autocomplete", "list"], ["aria-expanded", "false"]]) {
    field.setAttribute(name, value);
  }
  let timer = 0;
  let chosen = -1;
  let number = 0; // newest request; responses to older ones are ignored

  function show(articles) {
    list.replaceChildren(...articles.map((article, place) => {
      const option = document.createElement("li");
      option.id = `${list.id}-${place}`;
      option.setAttribute("role", "option");
      option.setAttribute("dir", "auto");
      option.textContent = article.title;
      option.dataset.path = article.path;
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); location.assign(article.path); });
      return option;
    }));
    choose(-1);
    list.hidden = !articles.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
  }

  function choose(place) {
    chosen = place;
    [...list.children].forEach((option, index) => option.setAttribute("aria-selected", String(index === place)));
    if (place < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", list.children[place].id);
  }

  async function look() {
    const words = field.value.trim();
    const own = ++number;
    if (words.length < LEAST) { show([]); return; }
    try {
      const response = await fetch(`${form.dataset.suggest}?${new URLSearchParams({ q: words })}`);
      const articles = response.ok ? await response.json() : [];
      if (own === number && document.activeElement === field) show(articles);
    } catch {
      show([]);
    }
  }

  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, WAIT); });
  field.addEventListener("blur", () => { number++; show([]); });
  field.addEventListener("keydown", (event) => {
    const count = list.hidden ? 0 : list.children.length;
    if (event.key === "Escape" && count) { event.preventDefault(); show([]); }
    if (event.key === "ArrowDown" && count) { event.preventDefault(); choose((chosen + 1) % count); }
    if (event.key === "ArrowUp" && count) { event.preventDefault(); choose((chosen + count) % (count + 1) - (chosen === 0 ? 1 : 0)); }
    if (event.key === "Enter" && count && chosen >= 0) { event.preventDefault(); location.assign(list.children[chosen].dataset.path); }
  });
}
