// How each block is drawn: by its name, from its values. A block that is not known, or lacks what its picture needs,
// shows its table. DRAW[name](values, block, run) returns elements or null.
const DRAW = {};
const lines = (...parts) => parts.filter(Boolean).join("\n");

function segmentsOf(v) {
  const rows = records(any(v, "segments", "ops")).filter((g) => isNumber(num(g, "ms", "time_ms")));
  const out = rows.map((g) => {
    const ms = num(g, "ms", "time_ms"), ceiling = num(g, "ceiling_free", "ceiling");
    const shares = [num(g, "share_of_bandwidth", "of_limit"), num(g, "share_of_arithmetic")].filter(isNumber), limit = shares.length ? Math.max(...shares) : null;
    const name = text(any(g, "name", "segment", "op"));
    return { name, ms, limit, unattributed: name === "unattributed", source: g,
      words: lines(name, `${show(ms)} ms`, isNumber(num(g, "gb_s")) && `${show(num(g, "gb_s"))} GB/s`, isNumber(num(g, "share_of_bandwidth")) && `${percent(num(g, "share_of_bandwidth"))} of the bandwidth`, isNumber(num(g, "share_of_arithmetic")) && `${percent(num(g, "share_of_arithmetic"))} of the multiply rate`,
        shares.length === 1 && `${percent(limit)} of the limit`,
        isNumber(ceiling) && `if it cost nothing: ${show(ceiling)} × as fast`) };
  });
  const rest = num(v, "unattributed_ms");
  if (isNumber(rest) && rest >= 0 && !out.some((g) => g.unattributed)) out.push({ name: "unattributed", ms: rest, unattributed: true, words: lines("unattributed", `${show(rest)} ms that no dispatch covers`) });
  return out;
}
function roofOf(v) {
  const gb_s = num(v, "peak_gb_s", "read_gb_s", "limit_gb_s");
  const roofs = [["8-bit", 1e3 * num(v, "peak_int8_tflop_s")], ["float32", 1e3 * num(v, "peak_f32_tflop_s")], ["multiply", num(v, "gflop_limit")]].filter(([, rate]) => rate > 0);
  if (!(gb_s > 0)) return null;
  const points = records(any(v, "ops", "segments")).map((g) => {
    const ms = num(g, "ms", "time_ms"), b = num(g, "bytes"), f = num(g, "flop", "flops");
    if (!(ms > 0 && b > 0 && f > 0 && f / b > 0 && f / ms / 1e6 > 0 && f / b < Infinity)) return null;
    const name = text(any(g, "name", "segment", "op"));
    return { name, ms, intensity: f / b, rate: f / ms / 1e6, words: lines(name, `${show(f / b, 3)} operations per byte`, `${show(f / ms / 1e6, 3)} GFLOP/s`, `${show(b / ms / 1e6, 3)} GB/s`, `${show(ms)} ms`) };
  }).filter(Boolean);
  if (!points.length) return null;
  return roofline("Roofline", "Each disc is a segment, its area its time. The slope is the memory bandwidth of this machine, the level line its multiply rate: what lies near neither is held up by something else.", points, gb_s, roofs);
}
DRAW.explain = (v) => {
  const segments = segmentsOf(v);
  return segments.length ? [timeBars("Where the time goes", "The hatched part is time that no dispatch covers. The full part of each bar is the time that the machine's limits ask for; the pale rest is room.", segments), roofOf(v)] : null;
};
DRAW.roofline = (v) => (roofOf(v) ? [roofOf(v)] : null);

DRAW.fit = (v) => {
  const own = v.line && typeof v.line === "object" ? v.line : v, slope = num(own, "per_token_ms"), intercept = num(own, "fixed_ms");
  const range = interval(v.range) || interval([own.from_n, own.to_n]);
  const points = records(v.points).filter((p) => isNumber(num(p, "n")) && isNumber(num(p, "ms"))).map((p) => ({ x: p.n, y: p.ms, held: p.held_out === true, words: lines(`${show(p.n)} tokens`, `${show(p.ms)} ms`, p.held_out === true && "held out of the fit") }));
  for (const p of records(v.held_out_points)) if (isNumber(num(p, "n")) && isNumber(num(p, "ms")))
    points.push({ x: p.n, y: p.ms, held: true, words: lines(`held out: ${show(p.n)} tokens`, `${show(p.ms)} ms`) });
  const held = v.held_out && typeof v.held_out === "object" ? v.held_out : null;
  if (held && isNumber(num(held, "n")) && isNumber(num(held, "measured_ms", "ms")) && !points.some((p) => p.held && p.x === held.n))
    points.push({ x: held.n, y: num(held, "measured_ms", "ms"), held: true, words: lines(`held out: ${show(held.n)} tokens`, `measured ${show(num(held, "measured_ms", "ms"))} ms`, `predicted ${show(num(held, "predicted_ms"))} ms`) });
  if (points.length < 2 || slope === null || intercept === null) return null;
  const line = { slope, intercept, from: range ? range[0] : null, to: range ? range[1] : null };
  return [fitPlot("Time against prompt length, with residuals", `The line is ${show(intercept)} ms + ${show(slope)} ms a token; the shaded range is the one it was fitted on. A diamond is a length that was held out.`, points, line, { x: "tokens", y: "ms" })];
};
DRAW.slope = (v) => {
  const points = records(v.points).filter((p) => isNumber(num(p, "tokens", "n")) && isNumber(num(p, "dispatches", "d"))).map((p) => ({ x: num(p, "tokens", "n"), y: num(p, "dispatches", "d"), words: lines(`${show(num(p, "tokens", "n"))} tokens`, `${show(num(p, "dispatches", "d"))} dispatches`) }));
  if (points.length < 2 || num(v, "slope", "b") === null) return null;
  return [fitPlot("Dispatches against length", null, points, { slope: num(v, "slope", "b"), intercept: num(v, "intercept", "a") || 0 }, { x: "tokens", y: "dispatches" })];
};
DRAW.dispatch_cost = (v) => {
  const points = records(any(v, "points", "injected")).filter((p) => isNumber(num(p, "extra", "k")) && isNumber(p.ms)).map((p) => ({ x: num(p, "extra", "k"), y: p.ms, words: lines(`${show(num(p, "extra", "k"))} inert dispatches`, `${show(p.ms)} ms`) }));
  return points.length > 1 ? curves("Time against injected dispatches", null, [{ points }], { x: "inert dispatches added", y: "ms" }) : null;
};

DRAW.ab = (v) => {
  const rows = [], push = (name, mid, ci, dots, ink, faint) => {
    if (!isNumber(mid) && !ci) return;
    rows.push({ name, mid, low: ci ? ci[0] : null, high: ci ? ci[1] : null, dots: numbers(dots), colour: ink, faint,
      note: isNumber(mid) ? show(mid) : "", words: lines(`${name}: ratio ${show(mid)}`, ci && `95 % interval ${show(ci[0])} to ${show(ci[1])}`, numbers(dots).length && `${numbers(dots).length} round ratios`) });
  };
  for (const c of [v, ...records(v.comparisons)]) {
    const name = text(any(c, "test", "name"));
    push((name ? name + " · " : "") + "B over A", num(c, "ratio", "geometric_mean", "gmean"), interval(any(c, "ratio_ci", "ci", "interval")), any(c, "ratios", "round_ratios"), colour(0));
    push((name ? name + " · " : "") + "null run (A against A)", num(c, "null_ratio", "null_gmean"), interval(any(c, "null_ratio_ci", "null_ci", "null_interval")), c.null_ratios, "var(--faint)", true);
  }
  return rows.length ? [forest("Ratio with its interval, and the null run beside it", "Dots are round ratios. A difference counts only where its interval leaves 1 and goes beyond what the same program shows against itself.", rows, { rule: 1, label: "ratio" })] : null;
};
DRAW.null = (v, block) => {
  const moved = { null_ratio: num(v, "null_ratio", "ratio", "geometric_mean"), null_ratio_ci: any(v, "null_ratio_ci", "ratio_ci", "ci"), null_ratios: any(v, "null_ratios", "ratios") };
  return DRAW.ab(moved, block);
};
DRAW.bisect = (v) => {
  const rows = records(v.steps).filter((p) => isNumber(num(p, "change"))).slice(0, 60).map((p) => {
    const ci = interval(p.ratio_ci), said = p.named === true || p.flagged === true, name = `${text(p.from)} → ${text(p.to)}`;
    return { name, mid: 100 * p.change, low: ci ? 100 * (ci[0] - 1) : null, high: ci ? 100 * (ci[1] - 1) : null, colour: said ? "var(--b)" : "var(--faint)",
      note: show(100 * p.change, 3) + "%" + (said ? " named" : ""), words: lines(name, `${show(100 * p.change, 3)} %`, ci && `paired interval ${show(ci[0])} to ${show(ci[1])}`, isNumber(num(p, "sigma")) && `noise σ ${show(100 * p.sigma, 2)} %`, said && "beyond the noise and more than 2 %") };
  });
  return rows.length ? [forest(`Change of ${text(v.phase) || "speed"}, step by step`, "Each row is one step from a version to the next; what is named lies beyond the noise.", rows, { rule: 0, format: (x) => (x > 0 ? "+" : "") + show(x, 3) + "%" })] : null;
};

DRAW.board = (v) => {
  const entries = records(any(v, "entries", "rows")), tests = [...new Set(entries.map((e) => text(any(e, "test") || v.test)))];
  const out = tests.slice(0, 12).map((test) => {
    const rows = entries.filter((e) => text(any(e, "test") || v.test) === test && isNumber(num(e, "mean", "rate"))).sort((p, q) => num(q, "mean", "rate") - num(p, "mean", "rate")).slice(0, 60).map((e, i) => {
      const mean = num(e, "mean", "rate"), half = halfWidth(num(e, "sd"), num(e, "n")), ci = interval(any(e, "ci", "interval")) || (half === null ? null : [mean - half, mean + half]);
      const name = text(any(e, "name", "engine", "variant")), bound = e.lower_bound === true, rank = any(e, "rank");
      return { name, mid: mean, low: ci ? ci[0] : null, high: ci ? ci[1] : null, dots: numbers(any(e, "values", "samples")), bound, hollow: e.stale === true, colour: e.stale === true ? "var(--faint)" : colour(i),
        note: (bound ? "≥ " : "") + show(mean) + (e.tie === true ? " tie" : "") + (e.stale === true ? " stale" : ""),
        words: lines(name, `${bound ? "at least " : ""}${show(mean)} tok/s`, ci && `95 % interval ${show(ci[0])} to ${show(ci[1])}`, isNumber(num(e, "n")) && `n ${e.n}`, rank !== null && `rank ${text(rank)}${e.tie === true ? " (tie)" : ""}`, e.date && text(e.date), e.stale === true && "older than 30 days") };
    });
    return rows.length ? forest(`Board ${test}`, `${test ? test + ": " : ""}mean with its 95 % interval. Entries whose difference could be nothing share a rank; an arrow is a lower bound.`, rows, { zero: true, label: "tok/s" }) : null;
  }).filter(Boolean);
  return out.length ? out : null;
};
