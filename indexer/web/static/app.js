// Keys, copying, and folding: what every page has. Everything can be read without it.
const items = () => [...document.querySelectorAll("[data-item]")].filter((one) => one.offsetParent !== null);
let at = null;

function stand(one) {
  if (at) at.classList.remove("at");
  at = one;
  one.classList.add("at");
  one.setAttribute("tabindex", "-1");
  one.focus({ preventScroll: true });
  one.scrollIntoView({ block: "nearest" });
}

function move(by) {
  const all = items();
  if (!all.length) return;
  const place = at && at.isConnected ? all.indexOf(at) : -1;
  stand(all[Math.max(0, Math.min(all.length - 1, place < 0 ? (by > 0 ? 0 : all.length - 1) : place + by))]);
}

function open() {
  if (!at || !at.isConnected) return;
  const folded = at.matches("details") ? at : at.querySelector("details");
  const link = at.querySelector("a[href]");
  if (at.dataset.item === "fold" && folded) folded.open = !folded.open;
  else if (link) link.click();
}

const typing = (where) => where.matches("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  const help = document.getElementById("help");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (help.open) return;
  const box = document.getElementById("q");
  if (event.key === "/" && box) {
    box.focus();
    box.select();
  } else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "?") help.showModal();
  else if (event.key === "Enter" && at && document.activeElement === at) open();
  else return;
  event.preventDefault();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select it and copy";
  }
  setTimeout(() => { button.textContent = before; }, 2000);
});

// Markup of our own server, in which every text is escaped; no script in it runs, by the page's policy.
export function put(place, markup) {
  const made = new DOMParser().parseFromString(markup, "text/html");
  place.replaceChildren(...made.body.childNodes);
}

export async function change(address, asked) {
  const answer = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(asked),
  });
  const said = await answer.json().catch(() => ({}));
  return { done: answer.ok, said };
}

document.documentElement.classList.add("js");
