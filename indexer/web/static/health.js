// Doctor looks at every transcript: the page does not wait for it.
import { put } from "./app.js";

const place = document.getElementById("doctor");
if (place.hasAttribute("data-ask")) {
  place.setAttribute("aria-busy", "true");
  const answer = await fetch("/health?part=doctor");
  if (answer.ok) put(place, await answer.text());
  place.removeAttribute("aria-busy");
}
