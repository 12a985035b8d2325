// Opens what the address points at; forgets the session, once it has been said what goes.
import { change } from "./app.js";

const aimed = () => {
  const one = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!one) return;
  one.querySelector("details")?.setAttribute("open", "");
  one.scrollIntoView({ block: "start" });
};
addEventListener("hashchange", aimed);
aimed();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-forget]");
  if (!button) return;
  const told = document.getElementById("forgotten");
  const session = button.dataset.forget;
  const sure = button.dataset.sure === "yes";
  const { done, said } = await change("/api/forget", sure ? { session, yes: true } : { session });
  if (!done) {
    told.textContent = `${said.error?.message ?? "It did not work."} ${said.error?.hint ?? ""}`;
  } else if (!sure) {
    const { prompts, tool_uses: calls, answers, stays } = said.would_go;
    told.textContent = `For good would go: ${prompts} prompts, ${calls} tool calls, ${answers} answers.`
      + (stays ? ` ${stays} records stay, since another session shows them.` : "");
    button.textContent = "Forget it for good";
    button.dataset.sure = "yes";
  } else {
    told.textContent = said.finished ? "Forgotten." : "Forgotten; its last bytes go when nobody reads.";
    button.remove();
  }
});
