// What is wider than the page scrolls, and is then reached with the keyboard too.
{
  const mark = (element) => {
    for (const box of [element, element.closest(".md-typeset__scrollwrap")].filter(Boolean)) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  const observer = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target)));
  for (const element of document.querySelectorAll(".md-typeset table, .md-typeset pre > code, .md-typeset math")) {
    mark(element);
    observer.observe(element);
  }
}
