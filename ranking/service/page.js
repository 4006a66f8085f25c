// A little comfort: "/" puts the cursor into the question, and a form says that it is working.
"use strict";
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    document.getElementById("q").focus();
  }
});
document.querySelector("form").addEventListener("submit", (event) => {
  const button = event.target.querySelector("button");
  button.textContent = "Asking …";
  // Empty fields make the link longer than it needs to be.
  for (const field of event.target.elements) if (field.name && !field.value) field.disabled = true;
});
window.addEventListener("pageshow", () => {
  document.querySelector("button").textContent = "Ask";
  for (const field of document.querySelector("form").elements) field.disabled = false;
});
