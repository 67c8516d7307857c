// Lines and points: fits with residuals, curves, steps, history.

// points: [{x, y, held, low, high, words}]; line: {slope, intercept, from, to} or null.
function fitPlot(title, caption, points, line, labels) {
  const residual = (p) => p.y - (line.intercept + line.slope * p.x);
  const exact = line && points.every((p) => Math.abs(residual(p)) <= 1e-6 * Math.max(Math.abs(p.y), 1e-12));
  return figure(title, caption, (svg, width) => {
    const tall = Math.max(220, Math.min(330, width * 0.4)), area = { left: 66, top: 30, right: width - 16, bottom: tall };
    const X = linear(...extent(points.map((p) => p.x), 0.05, true), area.left, area.right);
    const Y = linear(...extent(points.map((p) => p.y).concat(line ? [line.intercept] : []), 0.06, true), area.bottom, area.top);
    const layer = axes(svg, area, { scale: X, label: labels.x, bare: line && !exact }, { scale: Y, label: labels.y });
    if (line) {
      const end = Math.max(...points.map((p) => p.x));
      if (isNumber(line.from)) layer.append(s("rect", { x: X(line.from), width: Math.max(0, X(line.to) - X(line.from)), y: area.top, height: area.bottom - area.top, fill: "var(--band)" }));
      layer.append(s("path", { d: path([[X(0), Y(line.intercept)], [X(end), Y(line.intercept + line.slope * end)]]), stroke: "var(--a)", "stroke-width": 1.75, fill: "none", "stroke-dasharray": isNumber(line.from) ? null : "5 4" }));
    }
    for (const p of points) layer.append(mark(p, X(p.x), Y(p.y)));
    if (!line || exact) return tall + 46;
    const second = { left: 66, top: tall + 48, right: width - 16, bottom: tall + 124 };
    const most = Math.max(...points.map((p) => Math.abs(residual(p))), 1e-9) * 1.25;
    const R = linear(-most, most, second.bottom, second.top);
    R.ticks = () => [-most / 1.25, 0, most / 1.25];
    const rest = axes(svg, second, { scale: X, label: labels.x }, { scale: R, label: "residual", format: (v) => (v > 0 ? "+" : "") + show(v, 2) });
    for (const p of points) {
      rest.append(s("line", { x1: X(p.x), x2: X(p.x), y1: R(0), y2: R(residual(p)), stroke: p.held ? "var(--b)" : "var(--a)" }), mark({ ...p, words: p.words + `\nresidual ${show(residual(p), 3)}` }, X(p.x), R(residual(p))));
    }
    return tall + 124 + 46;
  });
}
function mark(p, x, y) {
  const shape = p.held ? s("path", { d: `M${x},${y - 7}l7,7l-7,7l-7,-7z`, fill: "var(--paper)", stroke: "var(--b)", "stroke-width": 2 })
    : s("circle", { cx: x, cy: y, r: 4.5, fill: p.colour || "var(--a)", stroke: "var(--paper)" });
  return hint(shape, p.words);
}

// series: [{name, points: [{x, y, words}], dashed, dots}]; options: {x, y (labels), logX, logY, steps, rule, zero}.
function curves(title, caption, series, o) {
  const drawable = (p) => isNumber(p.x) && isNumber(p.y) && (!o.logX || p.x > 0) && (!o.logY || p.y > 0);
  series = series.map((c) => ({ ...c, points: c.points.filter(drawable) })).filter((c) => c.points.length);
  if (!series.length) return [];
  const plot = figure(title, caption, (svg, width) => {
    const height = o.height || Math.max(230, Math.min(330, width * 0.42)), area = { left: 66, top: 30, right: width - 16, bottom: height - 46 };
    const xs = series.flatMap((c) => c.points.map((p) => p.x)), ys = series.flatMap((c) => c.points.map((p) => p.y)).concat(o.rules || []);
    const X = o.logX ? log(Math.min(...xs), Math.max(...xs), area.left + 6, area.right - 6) : linear(...extent(xs, 0.04), area.left, area.right);
    const Y = o.logY ? log(Math.min(...ys) / 1.5, Math.max(...ys) * 1.5, area.bottom, area.top) : linear(...extent(ys, 0.08, o.zero), area.bottom, area.top);
    const layer = axes(svg, area, { scale: X, label: o.x, format: o.formatX }, { scale: Y, label: o.y, format: o.formatY });
    for (const r of o.rules || []) layer.append(s("line", { x1: area.left, x2: area.right, y1: Y(r), y2: Y(r), stroke: "var(--ink)", "stroke-dasharray": "3 4" }));
    series.forEach((c, i) => {
      const at = c.points.map((p) => [X(p.x), Y(p.y)]);
      if (!c.dots && at.length > 1) layer.append(s("path", { d: path(at), fill: "none", stroke: c.colour || colour(i), "stroke-width": 1.75, "stroke-dasharray": c.dashed ? "5 4" : null }));
      c.points.forEach((p, j) => layer.append(hint(s("circle", { cx: at[j][0], cy: at[j][1], r: c.dots ? 2.6 : 4, fill: c.colour || colour(i), "fill-opacity": c.dots ? 0.5 : 1, stroke: c.dots ? null : "var(--paper)" }), p.words, c.points.length <= 40)));
    });
    return height;
  });
  const named = series.filter((c) => c.name);
  return named.length > 1 ? [legend(named.map((c, i) => [c.colour || colour(series.indexOf(c)), c.name])), plot] : [plot];
}
