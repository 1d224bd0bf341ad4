"use strict";
// Draws every figure from the JSON beside it. Traces name a series (`meta.series`); colours come from here, one set for
// light and one for dark, after M. Okabe and K. Ito: told apart by people with any colour vision. Where a figure has
// more series than people can tell apart, those whose traces say `meta.rest` are grey until they are chosen.
(() => {
  const palettes = {
    light: ["#1c1e21", "#0072b2", "#d55e00", "#007a5a", "#aa4f87", "#8a6d00", "#2b8cc4", "#7a4fd0", "#6a6a6a", "#b3282d"],
    dark: ["#f4f5f7", "#56b4e9", "#ff8f57", "#3fd1a0", "#e79bc6", "#f0d04c", "#9fd3f5", "#b79cf7", "#a9adb5", "#ff8a8a"],
  };
  const MAX_CHOSEN = 4;
  const MAX_LABELS = 9;
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const narrow = () => window.innerWidth < 720;
  const options = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] };
  const figures = [...document.querySelectorAll("figure > .plot")].map((place) => ({
    place, spec: JSON.parse(document.getElementById(place.id.replace(/-plot$/, "-data")).textContent), drawn: false,
  }));
  // Group (a machine, as traces name it) to the number of its colour; the same in every figure of the page.
  const colours = new Map();
  const group = (trace) => trace.meta?.group;
  for (const { spec } of figures) {
    for (const trace of spec.data) {
      if (group(trace) !== undefined && !trace.meta.rest) colours.set(group(trace), trace.meta.series ?? 0);
    }
  }

  const isGrey = (trace) => group(trace) !== undefined && !colours.has(group(trace));
  function colour(trace) {
    if (isGrey(trace)) return css("--rest");
    const series = group(trace) === undefined ? trace.meta?.series ?? 0 : colours.get(group(trace));
    return palettes[theme()][series % 10];
  }

  function coloured(trace) {
    const ink = colour(trace);
    const copy = structuredClone(trace);
    if (isGrey(trace)) {
      delete copy.error_y;
      copy.showlegend = false;
    }
    if (copy.line || (copy.mode ?? "").includes("lines")) {
      copy.line = { ...copy.line, color: ink, ...(isGrey(trace) ? { width: 1 } : {}) };
    }
    if (copy.marker || (copy.mode ?? "").includes("markers")) {
      const hollow = copy.meta?.hollow || isGrey(trace);
      copy.marker = { ...copy.marker, color: hollow ? css("--raised") : ink, line: { width: hollow ? 1.5 : 1, color: ink } };
      // A pale bar: its frame alone is hard to see beside full ones.
      if (hollow && copy.type === "bar") Object.assign(copy.marker, { color: ink, opacity: 0.35 });
      if (isGrey(trace)) copy.marker.size = 3;
    }
    if (copy.error_y) copy.error_y = { ...copy.error_y, color: ink };
    return copy;
  }

  // The name of each coloured curve stands at its right end, moved apart where two ends are near each other.
  function labels(figure, layout, height) {
    if (!figure.spec.labels || narrow() || figure.spec.data.some((trace) => trace.type === "bar")) return [];
    const last = new Map();
    for (const trace of figure.spec.data) {
      if (isGrey(trace) || !trace.meta?.label || trace.visible === "legendonly") continue;
      for (let k = trace.x.length - 1; k >= 0; k--) {
        if (trace.x[k] === null || trace.y[k] === null) continue;
        const known = last.get(trace.meta.label);
        if (!known || trace.x[k] > known.x) last.set(trace.meta.label, { x: trace.x[k], y: trace.y[k], ink: colour(trace) });
        break;
      }
    }
    const axis = layout.yaxis;
    const log = axis.type === "log";
    const values = figure.spec.data.flatMap((trace) => trace.y).filter((y) => y !== null);
    const [low, high] = axis.range ?? [0, Math.max(...values) * 1.05];
    if (last.size > MAX_LABELS) return [];
    const scaled = (y) => ((log ? Math.log10(y) : y) - low) / (high - low);
    const ends = [...last].map(([text, end]) => ({ text, ...end, at: scaled(end.y) })).sort((a, b) => a.at - b.at);
    const gap = 16 / Math.max(height, 1);
    let floor = -1;
    for (const end of ends) {
      end.shown = Math.max(end.at, floor + gap);
      floor = end.shown;
    }
    let ceiling = 1.02;
    for (const end of [...ends].reverse()) {
      end.shown = Math.min(end.shown, ceiling);
      ceiling = end.shown - gap;
    }
    return ends.map((end) => ({
      xref: "paper", yref: "paper", x: 1.005, xanchor: "left", y: end.shown, yanchor: "middle", showarrow: false,
      text: end.text, font: { color: end.ink, size: 12 }, meta: "label",
    }));
  }

  function styled(figure) {
    const copy = structuredClone(figure.spec.layout);
    const axis = { automargin: true, gridcolor: css("--faint"), linecolor: css("--line"), zerolinecolor: css("--line"), tickcolor: css("--line") };
    for (const name of Object.keys(copy)) if (/^[xy]axis/.test(name)) copy[name] = { ...axis, ...copy[name] };
    if (narrow() && copy.xaxis.tickvals?.length > 4) {
      const every = (list) => list.filter((_, index) => index % 2 === 0);
      for (const key of ["tickvals", "ticktext"]) if (copy.xaxis[key]) copy.xaxis[key] = every(copy.xaxis[key]);
    }
    Object.assign(copy, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: css("--sans"), size: 13, color: css("--ink") },
      hoverlabel: { bgcolor: css("--raised"), bordercolor: css("--line"), font: { color: css("--ink"), family: css("--sans") } },
    });
    copy.modebar = { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--accent") };
    // The legend is a list of the page, below the figure: one within the figure is cut off where it is narrow.
    copy.showlegend = false;
    for (const note of copy.annotations ?? []) note.font = { ...note.font, color: css("--ink") };
    const shown = labels(figure, copy, (figure.place.clientHeight || 400) - 120);
    if (shown.length) {
      const longest = Math.max(...shown.map((label) => label.text.length));
      copy.margin = { ...copy.margin, r: Math.min(24 + 6.6 * longest, figure.place.clientWidth * 0.3) };
      copy.annotations = [...(copy.annotations ?? []), ...shown];
    }
    return copy;
  }

  function draw(figure) {
    figure.drawn = true;
    const ordered = [...figure.spec.data.filter(isGrey), ...figure.spec.data.filter((trace) => !isGrey(trace))];
    Plotly.react(figure.place, ordered.map(coloured), styled(figure), options);
    legend(figure);
  }

  const HIDDEN = "legendonly";
  // What the list below a figure has: each coloured curve, which is hidden and shown again, and each grey machine, which
  // is chosen. A machine with one curve in the figure has one entry for both.
  function entries(figure) {
    const curves = new Map();
    for (const trace of figure.spec.data) {
      const machine = group(trace);
      if (!curves.has(machine)) curves.set(machine, new Set());
      curves.get(machine).add(trace.legendgroup ?? trace.name);
    }
    const found = new Map();
    for (const trace of figure.spec.data) {
      const machine = group(trace);
      const curve = trace.legendgroup ?? trace.name;
      const chosen = machine !== undefined && (isGrey(trace) || (curves.get(machine).size === 1 && colours.get(machine) > 0));
      const key = chosen ? machine : `${machine ?? ""} ${curve}`;
      if (!found.has(key)) {
        const name = chosen ? trace.meta.name : trace.meta?.legend ?? curve;
        found.set(key, { key, name, machine, chosen, traces: [] });
      }
      found.get(key).traces.push(trace);
    }
    return [...found.values()];
  }

  function swatch(trace) {
    const ink = colour(trace);
    const part = document.createElement("span");
    part.className = "swatch";
    const marked = (trace.mode ?? "").includes("markers") || trace.type === "bar";
    part.style.borderTop = (trace.mode ?? "").includes("lines") ? `2px ${(trace.line?.dash ?? "solid") === "solid" ? "solid" : "dashed"} ${ink}` : "";
    if (marked && !(trace.mode ?? "").includes("lines")) part.style.background = trace.meta?.hollow ? css("--raised") : ink;
    if (marked && !(trace.mode ?? "").includes("lines")) part.style.boxShadow = `inset 0 0 0 1.5px ${ink}`;
    if (marked && !(trace.mode ?? "").includes("lines")) part.classList.add("dot");
    return part;
  }

  function legend(figure) {
    const found = entries(figure);
    let list = figure.place.nextElementSibling;
    if (!list?.classList.contains("legend")) {
      list = document.createElement("div");
      list.className = "legend";
      list.setAttribute("role", "group");
      list.setAttribute("aria-label", "Curves of the figure");
      figure.place.after(list);
    }
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    list.replaceChildren(...found.map((entry) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.key = entry.key;
      const first = entry.traces.find((trace) => trace.showlegend !== false) ?? entry.traces[0];
      const shown = entry.chosen ? colours.has(entry.machine) : first.visible !== HIDDEN;
      button.setAttribute("aria-pressed", String(shown));
      button.append(swatch(first), entry.name);
      button.addEventListener("click", () => (entry.chosen ? choose(entry.machine) : hide(figure, entry)));
      return button;
    }));
    if (focused !== null) [...list.children].find((button) => button.dataset.key === focused)?.focus();
  }

  function hide(figure, entry) {
    const hidden = entry.traces[0].visible === HIDDEN;
    for (const trace of entry.traces) trace.visible = hidden ? true : HIDDEN;
    draw(figure);
  }

  // Of those chosen the oldest makes way for a fifth; the machine that the page is about stays.
  function choose(key) {
    if (colours.has(key)) colours.delete(key);
    else {
      const others = [...colours].filter(([, series]) => series !== 0);
      if (others.length >= MAX_CHOSEN) colours.delete(others[0][0]);
      const taken = new Set(colours.values());
      colours.set(key, [1, 2, 3, 4, 5, 6].find((series) => !taken.has(series)));
    }
    redraw();
  }

  function redraw() {
    for (const figure of figures) if (figure.drawn) draw(figure);
  }

  function csv(spec) {
    const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value ?? "");
    const rows = [["curve", "x", "y", "low", "high"]];
    for (const trace of spec.data) {
      const [outer, inner] = Array.isArray(trace.x[0]) ? trace.x : [trace.x, null];
      trace.y.forEach((y, k) => {
        if (y === null) return;
        const x = inner ? `${outer[k]} ${inner[k]}` : outer[k];
        const low = trace.error_y ? y - trace.error_y.arrayminus[k] : "";
        rows.push([trace.name, x, y, low, trace.error_y ? y + trace.error_y.array[k] : ""]);
      });
    }
    return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  }

  for (const button of document.querySelectorAll("button.csv")) {
    button.addEventListener("click", () => {
      const { spec } = figures.find(({ place }) => place.id === `${button.dataset.figure}-plot`);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(spec)], { type: "text/csv" }));
      link.download = `${button.dataset.figure}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // Those in sight first, the rest when the browser has time; all before it prints.
  let next = 0;
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 1));
  function go() {
    if (next < figures.length) {
      if (!figures[next].drawn) draw(figures[next]);
      next += 1;
      idle(go, { timeout: 200 });
    } else root.dataset.drawn = "yes";
  }
  const seen = new IntersectionObserver((entriesSeen) => {
    for (const entry of entriesSeen) {
      const figure = figures.find(({ place }) => place === entry.target);
      if (entry.isIntersecting && !figure.drawn) draw(figure);
    }
  });
  for (const { place } of figures) seen.observe(place);
  // Paper is light, whatever the screen is.
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    for (const figure of figures) {
      draw(figure);
      Plotly.relayout(figure.place, { width: Math.min(680, figure.place.clientWidth), autosize: false });
    }
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    redraw();
  });
  document.addEventListener("weft-theme", redraw);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if ((width < 720) !== narrow()) redraw();
    width = window.innerWidth;
  });
  go();
})();
