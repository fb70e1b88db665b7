import { Gauge, type Registry } from "prom-client";

/** A sample of a gauge: its labels, and its value or nothing. */
export type Sample = readonly [labels: Readonly<Record<string, string | number>>, value: number | undefined];

/** Adds a gauge whose samples are those that `read` returns at each scrape. */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly Sample[],
): void {
  new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) if (value !== undefined) this.set(labels, value);
    },
  });
}

/** Adds a gauge without labels, whose value `read` returns at each scrape. While it is undefined, the gauge is 0. */
export function addCount(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined,
): void {
  addGauge(registry, name, help, [], () => [[{}, read()]]);
}
