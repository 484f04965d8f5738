// Enhancements only: every page works without this file.
(() => {
  "use strict";

  const questionBox = () => document.getElementById("question");
  const isTyping = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

  document.addEventListener("keydown", (event) => {
    const box = questionBox();
    if (event.key === "/" && box && !isTyping(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      box.focus();
      box.select();
    }
    // Enter sends the question, Shift and Enter begins a new line; not while an input method composes a word.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && box && event.target === box) {
      event.preventDefault();
      box.form.requestSubmit();
    }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element && event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected: press Ctrl or ⌘ and C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2500);
  });

  const enhance = () => {
    document.querySelectorAll("[data-copy], .hint").forEach((element) => { element.hidden = false; });
  };
  enhance();

  document.addEventListener("htmx:afterSettle", (event) => {
    enhance();
    // A part of the page that was filled is read out itself; the rest stays where it was.
    if (event.target instanceof Element && event.target.id === "why-not") {
      (event.target.querySelector(".why-result") || event.target.querySelector("input")).focus({ preventScroll: true });
      return;
    }
    // A reader hears the answer's question, and the keyboard goes on from there.
    const heading = document.querySelector("#main h1[tabindex]");
    (heading || document.getElementById("main")).focus({ preventScroll: true });
  });

  document.addEventListener("htmx:sendError", () => {
    document.querySelectorAll("form.question").forEach((form) => {
      if (form.querySelector(".problem")) return;
      const problem = document.createElement("p");
      problem.className = "problem";
      problem.setAttribute("role", "alert");
      problem.textContent = "The server can’t be reached. Your question is still here: try again in a moment.";
      form.querySelector(".ask-row").after(problem);
    });
  });
})();
