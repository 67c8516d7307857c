// Where the time goes: one bar for the whole, one row a segment; and the roofline.

// segments: [{name, ms, share, limit, more}], the unattributed one has `unattributed`.
function timeBars(title, caption, segments) {
  const most = Math.max(...segments.map((g) => g.ms), 1e-12);
  const total = segments.reduce((sum, g) => sum + g.ms, 0) || 1;
  const digits = total >= 100 ? 1 : total >= 1 ? 2 : 4;
  return figure(title, caption, (svg, width) => {
    const narrow = width < 560, name_width = narrow ? width : Math.min(220, width * 0.27), value_width = 118;
    const left = narrow ? 0 : name_width + 12, room = width - left - value_width, row = narrow ? 42 : 25;
    const pattern = hatch(svg);
    const fillOf = (g, i) => (g.unattributed ? pattern : colour(0));
    let x = 0;
    segments.forEach((g, i) => {
      const w = (g.ms / total) * width;
      svg.append(hint(s("rect", { x, y: 0, width: Math.max(0.5, w - 1), height: 26, fill: fillOf(g), opacity: g.unattributed ? 1 : 1 - 0.72 * (i / segments.length),
        stroke: g.unattributed ? "var(--hatch)" : null }), g.words, false));
      if (w > 74) svg.append(s("text", { x: x + 7, y: 17.5, fill: g.unattributed ? "var(--ink)" : "var(--paper)", "pointer-events": "none",
        class: "in-bar" }, clip(g.name, Math.floor(w / 7.2))));
      x += w;
    });
    for (const t of svg.querySelectorAll("text.in-bar")) t.style.fill = t.getAttribute("fill");
    let y = 52;
    segments.forEach((g) => {
      const bar = y + (narrow ? 18 : 0);
      svg.append(s("text", { class: "strong", x: 0, y: y + 12 }, clip(g.name, narrow ? 40 : Math.floor(name_width / 6.8))));
      if (isNumber(g.limit)) {  // a track as long as the bar would be if the limit were reached … the rest is room
        svg.append(s("rect", { x: left, y: bar + 1, width: Math.max(1, (g.ms / most) * room), height: 14, fill: "var(--band)" }));
        svg.append(s("rect", { x: left, y: bar + 1, width: Math.max(1, (Math.min(1, g.limit) * g.ms / most) * room), height: 14, fill: fillOf(g) }));
      } else {
        svg.append(s("rect", { x: left, y: bar + 1, width: Math.max(1, (g.ms / most) * room), height: 14, fill: fillOf(g), stroke: g.unattributed ? "var(--hatch)" : null }));
      }
      svg.append(s("text", { class: "strong", x: width, y: bar + 12, "text-anchor": "end" }, g.ms.toFixed(digits) + " ms"),
        s("text", { x: width - 74, y: bar + 12, "text-anchor": "end" }, percent(g.ms / total)));
      svg.append(hint(s("rect", { x: 0, y: y - 3, width, height: row - 1, fill: "transparent" }), g.words));
      y += row;
    });
    return y + 2;
  });
}

// points: [{name, intensity (flop/byte), rate (GFLOP/s), ms, words}]; gb_s; roofs: [[name, GFLOP/s]], any number.
function roofline(title, caption, points, gb_s, roofs) {
  const gflop_s = roofs.length ? Math.max(...roofs.map(([, rate]) => rate)) : null;
  const good = points.filter((p) => p.intensity > 0 && p.rate > 0);
  return figure(title, caption, (svg, width) => {
    const height = Math.max(300, Math.min(440, width * 0.52)), area = { left: 62, top: 30, right: width - 14, bottom: height - 46 };
    const knee = isNumber(gflop_s) ? gflop_s / gb_s : null;
    const xs = good.map((p) => p.intensity).concat(knee ? [knee] : []), ys = good.map((p) => p.rate).concat(isNumber(gflop_s) ? [gflop_s] : []);
    const x0 = Math.min(...xs) / 2, x1 = Math.max(...xs) * 3, y0 = Math.min(...ys) / 2.5, y1 = Math.max(...ys, x0 * gb_s) * 1.8;
    const X = log(x0, x1, area.left, area.right), Y = log(y0, y1, area.bottom, area.top);
    const layer = axes(svg, area, { scale: X, label: "operations per byte" }, { scale: Y, label: "GFLOP/s" });
    const clipped = (x) => Math.min(isNumber(gflop_s) ? gflop_s : Infinity, x * gb_s);
    const roof = [x0, knee, x1].filter((x) => isNumber(x) && x >= x0 && x <= x1).map((x) => [X(x), Math.max(area.top, Y(clipped(x)))]);
    const start = Math.max(x0, y0 / gb_s);  // where the slope enters the picture
    roof[0] = [X(start), Y(clipped(start))];
    layer.append(s("path", { d: path(roof), fill: "none", stroke: "var(--ink)", "stroke-width": 1.5 }));
    const reach = Math.min(knee || x1, y1 / gb_s);
    const at = start ** 0.72 * reach ** 0.28, slope = Math.atan2(Y(at * gb_s * 2) - Y(at * gb_s), X(at * 2) - X(at)) * 180 / Math.PI;
    layer.append(s("text", { class: "strong", x: X(at), y: Y(at * gb_s) - 8, "text-anchor": "middle", transform: `rotate(${slope} ${X(at)} ${Y(at * gb_s) - 8})` },
      `memory ${show(gb_s, 3)} GB/s`));
    for (const [name, rate] of roofs) {
      if (rate < gflop_s) layer.append(s("line", { x1: X(Math.max(x0, rate / gb_s)), x2: area.right, y1: Y(rate), y2: Y(rate), stroke: "var(--ink)", "stroke-dasharray": "5 4" }));
      layer.append(s("text", { class: "strong", x: area.right, y: Y(rate) - 7, "text-anchor": "end" }, `${name} ${show(rate, 3)} GFLOP/s`));
    }
    const most = Math.max(...good.map((p) => p.ms || 0), 1e-12), discs = [], slant = [X(at) - 62, Y(at * gb_s) - 34, X(at) + 62, Y(at * gb_s) + 14];
    good.slice().sort((p, q) => (q.ms || 0) - (p.ms || 0)).forEach((p, i) => {
      const r = 4 + 11 * Math.sqrt((p.ms || 0) / most), cx = X(p.intensity), cy = Y(p.rate);
      layer.append(hint(s("circle", { cx, cy, r, fill: "var(--a)", "fill-opacity": 0.55, stroke: "var(--a)" }), p.words));
      discs.push({ cx, cy, r, name: clip(p.name, 22), wanted: i < (width < 560 ? 6 : 14) });
    });
    for (const l of placeLabels(discs, area, slant)) layer.append(s("text", { x: l.x, y: l.y + 4, "pointer-events": "none" }, l.name));
    return height;
  });
}
