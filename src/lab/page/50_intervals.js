// Intervals: comparisons with their null run, boards with error bars, samples around their mean.

// rows: [{name, low, mid, high, dots, colour, faint, note, words, bound}]; options: {rule, log, label, format}.
function forest(title, caption, rows, o = {}) {
  return figure(title, caption, (svg, width) => {
    const narrow = width < 560, names = narrow ? 0 : Math.min(210, width * 0.28), row = narrow ? 50 : 34;
    const area = { left: names + (narrow ? 8 : 14), top: 6, right: width - (narrow ? 8 : 130), bottom: 6 + rows.length * row };
    const all = rows.flatMap((r) => [r.low, r.mid, r.high, ...(r.dots || [])]).concat(isNumber(o.rule) ? [o.rule] : []).filter(isNumber);
    const X = linear(...extent(all, 0.07, o.zero), area.left, area.right);
    for (const v of X.ticks(Math.max(3, Math.min(7, (area.right - area.left) / 90)))) {
      svg.append(s("line", { class: "grid", x1: X(v), x2: X(v), y1: area.top, y2: area.bottom }),
        s("text", { x: X(v), y: area.bottom + 17, "text-anchor": "middle" }, (o.format || ((u) => show(u, 4)))(v)));
    }
    if (isNumber(o.rule)) svg.append(s("line", { x1: X(o.rule), x2: X(o.rule), y1: area.top, y2: area.bottom, stroke: "var(--ink)", "stroke-dasharray": "3 4" }));
    svg.append(s("line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }));
    rows.forEach((r, i) => {
      const y = area.top + i * row + (narrow ? row - 14 : row / 2), ink = r.colour || colour(0);
      svg.append(s("text", { class: "strong", x: 0, y: narrow ? y - 16 : y + 4 }, clip(r.name, narrow ? 46 : Math.floor(names / 6.6))));
      for (const d of (r.dots || []).slice(0, 400)) svg.append(s("circle", { cx: X(d), cy: y, r: 3, fill: ink, "fill-opacity": 0.28 }));
      if (isNumber(r.low) && isNumber(r.high)) svg.append(s("line", { x1: X(r.low), x2: X(r.high), y1: y, y2: y, stroke: ink, "stroke-width": r.faint ? 5 : 3, "stroke-opacity": r.faint ? 0.4 : 1, "stroke-linecap": "round" }));
      if (isNumber(r.mid)) svg.append(r.bound ? s("path", { d: `M${X(r.mid)},${y - 6}v12l9,-6z`, fill: ink }) : s("circle", { cx: X(r.mid), cy: y, r: 5, fill: r.hollow ? "var(--paper)" : ink, stroke: r.hollow ? ink : "var(--paper)", "stroke-width": r.hollow ? 2 : 1 }));
      svg.append(s("text", { x: width, y: narrow ? y - 16 : y + 4, "text-anchor": "end" }, r.note || ""));
      svg.append(hint(s("rect", { x: 0, y: area.top + i * row, width, height: row, fill: "transparent" }), r.words));
    });
    if (o.label) svg.append(s("text", { x: area.right, y: area.bottom + 35, "text-anchor": "end" }, o.label));
    return area.bottom + (o.label ? 42 : 24);
  });
}

// Two-sided 97.5 % points of Student's t for small n; the page draws intervals of means with them.
const T975 = [NaN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086];
const halfWidth = (sd, n) => (isNumber(sd) && n > 1 ? (n - 1 < T975.length ? T975[n - 1] : 1.96 + 2.4 / (n - 1)) * sd / Math.sqrt(n) : null);

// Samples of a run, each group around its own mean, so that groups of different speed share one axis.
function samplesPlot(all) {
  const groups = all.filter((g) => g.n > 1), same = (key) => groups.every((g) => g[key] === groups[0][key]);
  const rows = groups.slice(0, 40).filter((g) => g.mean !== 0).map((g, i) => {
    const half = halfWidth(g.sd, g.n), centre = (v) => 100 * (v / g.mean - 1);
    const name = [g.test, same("variant") ? "" : g.variant, same("phase") ? "" : g.phase].filter(Boolean).join(" · ") || "samples";
    const note = show(g.mean) + " " + clip(g.unit, 8);
    return { name, mid: 0, low: half === null ? null : centre(g.mean - half), high: half === null ? null : centre(g.mean + half), colour: colour(i),
      dots: g.values.map((v) => centre(Array.isArray(v) ? v[0] : v)), note, hollow: g.n < 2,
      words: `${name}\nmean ${note}, sd ${show(g.sd, 3)}, n ${g.n}\nsmallest ${show(g.min)}, largest ${show(g.max)}` + (g.thinned ? `\neach dot is the mean of ${g.thinned} samples` : "") };
  });
  if (!rows.length) return null;
  return forest("Raw samples around their mean", "Each dot is one sample, as its distance from the mean of its row; the bar is the 95 % interval of the mean." +
    (groups.length > 40 ? ` ${groups.length - 40} further groups are in the run file.` : ""), rows, { rule: 0, format: (v) => (v > 0 ? "+" : "") + show(v, 2) + "%" });
}
