// Deciding on pairs of observations.
import { change } from "./app.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-decision]");
  if (!button) return;
  const { decision, first, second } = button.dataset;
  const { done, said } = await change("/api/dedup", { decision, first: Number(first), second: Number(second) });
  const told = document.getElementById("decided");
  told.textContent = done ? "Decided." : `${said.error?.message ?? "It did not work."} ${said.error?.hint ?? ""}`;
  if (done) button.closest("li").remove();
});
