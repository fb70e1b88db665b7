import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { evaluate, type Series } from "../docs/promql.js";
import { root } from "../support/childProgram.js";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  /** `30s` or `1m`. */
  readonly for: string;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The longest range of a rule, in s. */
const RANGE_S = 900;

/** The rules of docs/alarms.yaml, evaluated at each scrape of the replicas, with their `for` in real time. */
export class Alarms {
  readonly #scrapeS: number;
  readonly #rules: readonly Rule[];
  readonly #series = new Map<string, Mutable<Series> & { values: (number | undefined)[] }>();
  /** The times since when expressions have had values, by alert and labels. */
  readonly #pending = new Map<string, number>();
  #scrapes = 0;

  /** @param change changes an expression before it is evaluated. */
  constructor(scrapeS: number, change: (expr: string) => string) {
    this.#scrapeS = scrapeS;
    const { groups }: { groups: { rules: Rule[] }[] } = parse(
      readFileSync(join(root, "docs", "alarms.yaml"), "utf8"),
    );
    this.#rules = groups.flatMap(({ rules }) => rules).map((rule) => ({ ...rule, expr: change(rule.expr) }));
  }

  get names(): readonly string[] {
    return this.#rules.map(({ alert }) => alert);
  }

  /** Takes the series of a scrape. @returns the alarms that fire, by name. */
  scrape(scraped: readonly Series[]): ReadonlySet<string> {
    this.#add(scraped);
    const at = Math.min(this.#scrapes, RANGE_S / this.#scrapeS) - 1;
    const moment = {
      series: [...this.#series.values()],
      at,
      scrapeS: this.#scrapeS,
      time: Date.now() / 1_000,
    };
    const now = performance.now();
    const firing = new Set<string>();
    for (const { alert, expr, for: wait } of this.#rules) {
      const found = new Set(evaluate(expr, moment).map(({ labels }) => `${alert} ${JSON.stringify(labels)}`));
      for (const key of this.#pending.keys())
        if (key.startsWith(`${alert} `) && !found.has(key)) this.#pending.delete(key);
      for (const key of found) {
        const since = this.#pending.get(key) ?? now;
        this.#pending.set(key, since);
        if (now - since >= msOf(wait)) firing.add(alert);
      }
    }
    return firing;
  }

  #add(scraped: readonly Series[]): void {
    const present = new Set<string>();
    for (const { name, labels, values } of scraped) {
      const key = `${name} ${JSON.stringify(labels)}`;
      present.add(key);
      const known = this.#series.get(key) ?? { name, labels, values: new Array(this.#kept).fill(undefined) };
      this.#series.set(key, known);
      known.values.push(values[0]);
    }
    for (const [key, { values }] of this.#series) if (!present.has(key)) values.push(undefined);
    this.#scrapes++;
    if (this.#scrapes > RANGE_S / this.#scrapeS)
      for (const { values } of this.#series.values()) values.shift();
  }

  get #kept(): number {
    return Math.min(this.#scrapes, RANGE_S / this.#scrapeS);
  }
}

function msOf(text: string): number {
  return Number(text.slice(0, -1)) * (text.endsWith("m") ? 60_000 : 1_000);
}
