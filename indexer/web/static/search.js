// Search as you type: words at once, the address kept so that it can be shared.
import { put } from "./app.js";

const form = document.getElementById("search");
const results = document.getElementById("results");
const told = document.getElementById("told");
const box = document.getElementById("q");
let asking = null;
let waiting = 0;

function address(more) {
  const given = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  for (const [name, value] of Object.entries(more)) given.set(name, value);
  return `/search?${given}`;
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  results.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address({ part: "results", typing: "1" }), { signal: asking.signal });
    if (!answer.ok) throw new Error(`${answer.status}`);
    put(results, await answer.text());
    history.replaceState(null, "", address({}));
    // Heard, not seen: the list itself is not read out at every letter.
    const many = results.querySelectorAll(".hits > li").length;
    told.textContent = many ? `${many} results` : "Nothing matches";
    results.removeAttribute("aria-busy");
  } catch (error) {
    if (error.name === "AbortError") return;
    results.removeAttribute("aria-busy");
    const said = document.createElement("p");
    said.className = "state bad";
    said.setAttribute("role", "alert");
    said.textContent = "The page does not answer any more: is `transcript-indexer web` still running?";
    results.replaceChildren(said);
  }
}

box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, 60);
});
form.addEventListener("submit", () => { clearTimeout(waiting); asking?.abort(); });
