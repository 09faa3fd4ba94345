// Loads the page again if one of its scripts got lost on the way: without it there would be no page.

document.addEventListener("error", (event) => {
  if (event.target.localName === "script") setTimeout(() => location.reload(), 2_000);
}, true);
