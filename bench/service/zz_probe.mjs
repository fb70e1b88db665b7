import pg from "pg";

const stats = new Map();
const orig = pg.Client.prototype.query;
pg.Client.prototype.query = function (...args) {
  const text = typeof args[0] === "string" ? args[0] : (args[0]?.text ?? "?");
  const key = text
    .replace(/\s+/g, " ")
    .replace(/^with held as \(.*?\) /, "")
    .slice(0, 70);
  const s = performance.now();
  const note = () => {
    const e = stats.get(key) ?? { n: 0, ms: 0, l: [] };
    e.n++;
    const d = performance.now() - s;
    e.ms += d;
    e.l.push(d);
    stats.set(key, e);
  };
  const last = args.at(-1);
  if (typeof last === "function") {
    args[args.length - 1] = (...r) => {
      note();
      last(...r);
    };
    return orig.apply(this, args);
  }
  const r = orig.apply(this, args);
  r?.then?.(note, note);
  return r;
};
process.on("message", ({ ask }) => {
  if (ask === "resetq") {
    stats.clear();
    process.send({ answer: {} });
  }
  if (ask === "q")
    process.send({
      answer: Object.fromEntries(
        [...stats]
          .sort((a, b) => b[1].ms - a[1].ms)
          .map(([k, e]) => {
            e.l.sort((a, b) => a - b);
            return [
              k,
              `n=${e.n} mean=${(e.ms / e.n).toFixed(2)} p50=${e.l[e.l.length >> 1].toFixed(2)} p99=${e.l[Math.floor(e.l.length * 0.99)].toFixed(2)}`,
            ];
          }),
      ),
    });
});
await import("./service.mjs");
