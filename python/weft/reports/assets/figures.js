"use strict";
// Draws every figure from the JSON beside it. Traces name a series (`meta.series`); colours come from here, one set for
// light and one for dark, after M. Okabe and K. Ito: told apart by people with any colour vision.
(() => {
  const palettes = {
    light: ["#1c1e21", "#0072b2", "#d55e00", "#007a5a", "#aa4f87", "#8a6d00", "#2b8cc4", "#7a4fd0", "#777777", "#b3282d"],
    dark: ["#f4f5f7", "#56b4e9", "#ff8f57", "#3fd1a0", "#e79bc6", "#f0d04c", "#9fd3f5", "#b79cf7", "#a9adb5", "#ff8a8a"],
  };
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const narrow = () => window.innerWidth < 720;

  function coloured(trace) {
    const colour = palettes[theme()][(trace.meta?.series ?? 0) % 10];
    const copy = structuredClone(trace);
    if (copy.line || (copy.mode ?? "").includes("lines")) copy.line = { ...copy.line, color: colour };
    if (copy.marker || (copy.mode ?? "").includes("markers")) {
      copy.marker = { ...copy.marker, color: copy.meta?.hollow ? css("--raised") : colour, line: { width: 1.5, color: colour } };
    }
    if (copy.error_y) copy.error_y = { ...copy.error_y, color: colour };
    return copy;
  }

  function styled(layout) {
    const copy = structuredClone(layout);
    const axis = { automargin: true, gridcolor: css("--faint"), linecolor: css("--line"), zerolinecolor: css("--line"), tickcolor: css("--line") };
    for (const name of Object.keys(copy)) if (/^[xy]axis/.test(name)) copy[name] = { ...axis, ...copy[name] };
    if (narrow() && copy.xaxis.tickvals?.length > 4) {
      const every = (list) => list.filter((_, place) => place % 2 === 0);
      Object.assign(copy.xaxis, { tickvals: every(copy.xaxis.tickvals), ticktext: every(copy.xaxis.ticktext) });
    }
    Object.assign(copy, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: css("--sans"), size: 13, color: css("--ink") },
      hoverlabel: { bgcolor: css("--raised"), bordercolor: css("--line"), font: { color: css("--ink"), family: css("--sans") } },
    });
    copy.modebar = { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--accent") };
    copy.legend = { ...copy.legend, font: { size: narrow() ? 11 : 12 } };
    for (const note of copy.annotations ?? []) note.font = { ...note.font, color: css("--ink") };
    return copy;
  }

  function draw() {
    for (const place of document.querySelectorAll(".plot")) {
      const figure = JSON.parse(document.getElementById(`${place.id}-data`).textContent);
      const options = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] };
      Plotly.react(place, figure.data.map(coloured), styled(figure.layout), options);
    }
    root.dataset.drawn = "yes";
  }

  document.querySelector("button.theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    draw();
  });
  system.addEventListener("change", draw);
  draw();
})();
