// Scales, axes, and figures that are drawn anew when their width changes.
const COLOURS = ["var(--a)", "var(--b)", "var(--c)", "var(--d)", "var(--e)"];
const colour = (i) => COLOURS[i % COLOURS.length];
let n_figures = 0;
const undrawn = [];  // figures that are not yet in the page

// draw(svg, width) appends to the empty svg and returns its height.
function figure(title, caption, draw) {
  const id = "figure-" + ++n_figures;
  const svg = s("svg", { role: "group", "aria-labelledby": id });
  const node = h("figure", {}, svg, caption ? h("figcaption", {}, caption) : null);
  let last = 0;
  const redraw = (width) => {
    if (width < 1 || Math.abs(width - last) < 1) return;
    last = width;
    svg.replaceChildren(s("title", { id }, title));
    const height = draw(svg, width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  };
  undrawn.push(() => redraw(Math.round(node.getBoundingClientRect().width)));
  new ResizeObserver((entries) => {
    const width = Math.round(entries[0].contentRect.width);
    requestAnimationFrame(() => redraw(width));
  }).observe(node);
  return node;
}

function linear(low, high, from, to) {
  if (!isNumber(low) || !isNumber(high)) low = high = 0;
  if (!(high > low)) { low -= Math.abs(low) * 0.05 + 0.5; high = low + Math.abs(low) * 0.1 + 1; }
  const f = (x) => from + ((x - low) / (high - low)) * (to - from);
  f.ticks = (n) => {
    const raw = (high - low) / n, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((v) => v >= raw * 0.999);
    const out = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9 && out.length < 50; ++i) out.push(i * step);
    return out;
  };
  return f;
}
function log(low, high, from, to) {
  if (!(low > 0 && low < Infinity)) low = 1;  // nothing to show there; the marks have been left out
  if (!(high < Infinity)) high = low;
  const a = Math.log10(low), b = Math.log10(high > low ? high : low * 10);
  const f = (x) => from + ((Math.log10(x) - a) / (b - a)) * (to - from);
  f.ticks = (n) => {
    const out = [], decades = b - a, steps = decades > n ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
    const stride = Math.max(1, Math.ceil(decades / n));
    for (let e = Math.floor(a); e <= b && out.length < 100; ++e)
      if ((e - Math.floor(a)) % stride === 0)
        for (const m of steps) { const v = m * 10 ** e; if (v >= low * 0.999 && v <= high * 1.001) out.push(v); }
    return out;
  };
  return f;
}
function extent(values, pad = 0.06, zero = false) {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (isNumber(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low > high) return [0, 1];
  if (zero) low = Math.min(0, low);
  const room = (high - low || Math.abs(high) || 1) * pad;
  return [zero && low === 0 ? 0 : low - room, high + room];
}

// Axes of a plot area. x, y: {scale, label, format}; returns the layer for marks.
function axes(svg, area, x, y) {
  const { left, top, right, bottom } = area;
  const format = (axis, v) => (axis.format || ((u) => show(u, 4)))(v);
  for (const v of y.scale.ticks(Math.max(2, Math.min(6, (bottom - top) / 40)))) {
    svg.append(s("line", { class: "grid", x1: left, x2: right, y1: y.scale(v), y2: y.scale(v) }),
      s("text", { x: left - 8, y: y.scale(v) + 4, "text-anchor": "end" }, format(y, v)));
  }
  svg.append(s("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
  if (!x.bare) for (const v of x.scale.ticks(Math.max(3, Math.min(8, (right - left) / 80)))) {
    svg.append(s("line", { class: "axis", x1: x.scale(v), x2: x.scale(v), y1: bottom, y2: bottom + 5 }),
      s("text", { x: x.scale(v), y: bottom + 19, "text-anchor": "middle" }, format(x, v)));
  }
  if (x.label && !x.bare) svg.append(s("text", { x: right, y: bottom + 37, "text-anchor": "end" }, x.label));
  if (y.label) svg.append(s("text", { x: 0, y: top - 12 }, y.label));
  const layer = s("g");
  svg.append(layer);
  return layer;
}
const path = (points) => "M" + points.map(([x, y]) => x.toFixed(1) + "," + y.toFixed(1)).join("L");
function hatch(svg) {
  const id = "hatch-" + n_figures + "-" + Math.random().toString(36).slice(2, 8);
  svg.append(s("defs", {}, s("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("rect", { width: 6, height: 6, fill: "var(--paper)" }), s("rect", { width: 2.4, height: 6, fill: "var(--hatch)" }))));
  return `url(#${id})`;
}
// Names beside discs, largest disc first: right, left, above or below, where neither a name nor a disc is in the way;
// a name that finds no room is left to the hint.
function placeLabels(discs, area, other) {
  const taken = discs.map((d) => [d.cx - d.r, d.cy - d.r, d.cx + d.r, d.cy + d.r]).concat([other]), placed = [];
  for (const d of discs.filter((p) => p.wanted)) {
    const width = 6.7 * d.name.length, tries = [[d.cx + d.r + 4, d.cy], [d.cx - d.r - 4 - width, d.cy], [d.cx - width / 2, d.cy - d.r - 9], [d.cx - width / 2, d.cy + d.r + 9],
      [d.cx + d.r + 2, d.cy - 13], [d.cx + d.r + 2, d.cy + 13], [d.cx - d.r - 2 - width, d.cy - 13], [d.cx - d.r - 2 - width, d.cy + 13]];
    const at = tries.find(([x, y]) => x >= area.left && x + width <= area.right && y > area.top && y < area.bottom &&
      !taken.some(([a, b, c, e]) => x < c && x + width > a && y - 6.5 < e && y + 6.5 > b));
    if (!at) continue;
    taken.push([at[0], at[1] - 6.5, at[0] + width, at[1] + 6.5]);
    placed.push({ x: at[0], y: at[1], name: d.name });
  }
  return placed;
}
