// The feed goes on while the page is seen; away from it, the connection is given back.
import { put } from "./app.js";

const feed = document.getElementById("feed");
const live = document.getElementById("live");
const MOST = 200;
let stream = null;

function say(text, good) {
  live.textContent = text;
  live.classList.toggle("good", good);
}

function follow() {
  if (stream) return;
  stream = new EventSource(`/feed?after=${encodeURIComponent(feed.dataset.after)}`);
  stream.addEventListener("open", () => say("Live: new entries appear by themselves.", true));
  stream.addEventListener("error", () => say("Not live: the connection is gone, and is tried again.", false));
  stream.addEventListener("trouble", (event) => say(`Not live: ${JSON.parse(event.data)}`, false));
  stream.addEventListener("entry", (event) => {
    feed.dataset.after = event.lastEventId;
    const place = document.createElement("ol");
    put(place, JSON.parse(event.data));
    const made = place.firstElementChild;
    if (!made) return;
    made.classList.add("new");
    feed.prepend(made);
    while (feed.children.length > MOST) feed.lastElementChild.remove();
    document.querySelector(".state")?.remove();
  });
  stream.addEventListener("state", (event) => {
    const place = document.createElement("div");
    put(place, JSON.parse(event.data));
    document.getElementById("state").replaceWith(place.firstElementChild);
  });
}

function leave() {
  stream?.close();
  stream = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
addEventListener("pagehide", leave);
if (!document.hidden) follow();
