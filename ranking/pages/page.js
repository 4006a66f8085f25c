// A little comfort: "/" puts the cursor into the question, and a form says that it is working.
"use strict";
const LONGEST = 60000; // characters of an address
const form = document.getElementById("ask");
const question = document.getElementById("q");
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing && question) {
    event.preventDefault();
    question.focus();
  }
});
if (form) {
  const button = form.querySelector("button");
  const candidates = document.getElementById("candidates");
  question.setSelectionRange(question.value.length, question.value.length);
  candidates.addEventListener("input", () => candidates.setCustomValidity(""));
  form.addEventListener("submit", (event) => {
    const sent = new URLSearchParams(new FormData(form)).toString();
    if (sent.length > LONGEST) {
      event.preventDefault();
      candidates.setCustomValidity("These texts are too long for the page. Send them to the API.");
      candidates.reportValidity();
      return;
    }
    button.textContent = "Asking …";
    // Empty fields make the link longer than it needs to be.
    for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
    if (document.getElementById("compare")?.checked === false) document.getElementById("right").disabled = true;
  });
  window.addEventListener("pageshow", () => {
    button.textContent = "Ask";
    for (const field of form.elements) field.disabled = false;
  });
}
