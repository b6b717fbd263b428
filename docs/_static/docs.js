// What themes and tools leave out of their HTML for keyboards and screen readers.
document.addEventListener("DOMContentLoaded", () => {
  // the headings of the navigation are below the title, and one landmark is not like another
  for (const caption of document.querySelectorAll(".sidebar-tree .caption")) {
    caption.setAttribute("aria-level", "2");
  }
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  // the visible text of a button is its name
  for (const button of document.querySelectorAll("summary[aria-label]")) {
    button.removeAttribute("aria-label");
  }
  // the corner of a table heads nothing
  for (const corner of document.querySelectorAll("th:not([role])")) {
    if (!corner.textContent.trim()) corner.setAttribute("role", "cell");
  }
  // what scrolls can be reached by the keyboard
  const scrolls = "pre, .output, .table-wrapper, .dt-table, .dt-scroll, .math";
  const reach = () => {
    for (const box of document.querySelectorAll(scrolls)) {
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) {
        box.tabIndex = 0;
      }
    }
  };
  reach();
  window.addEventListener("load", reach);
  window.addEventListener("resize", reach);
});
