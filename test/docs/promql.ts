// The part of PromQL that docs/alarms.yaml uses, over series with a value for each scrape. Where promtool is there, it has the word.

export type Labels = Readonly<Record<string, string>>;

/** A series with its value at each scrape; undefined where it has none. */
export interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly values: readonly (number | undefined)[];
}

/** A value at one moment, with its labels. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

interface Moment {
  readonly series: readonly Series[];
  /** The place of the scrape among the values. */
  readonly at: number;
  /** The interval of the scrapes, in s. */
  readonly scrapeS: number;
  /** The value of `time()`. */
  readonly time: number;
}

type Value = number | readonly Sample[];

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };
const AGGREGATES: Readonly<Record<string, (values: readonly number[]) => number>> = {
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
};
const OPERATORS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  "==": (a, b) => a === b,
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
};

/**
 * Evaluates an expression at one moment.
 * @throws an error for what it does not know, so that no rule passes unread.
 */
export function evaluate(expr: string, moment: Moment): readonly Sample[] {
  const evaluation = new Evaluation(expr.match(/"[^"]*"|[\w.]+|=~|==|\S/g) ?? [], moment);
  const value = evaluation.whole();
  if (typeof value === "number") throw new Error(`${expr} is no vector`);
  return value;
}

class Evaluation {
  readonly #tokens: string[];
  readonly #moment: Moment;

  constructor(tokens: readonly string[], moment: Moment) {
    this.#tokens = [...tokens];
    this.#moment = moment;
  }

  whole(): Value {
    const value = this.#alternatives();
    if (this.#tokens.length > 0) throw new Error(`not known: ${this.#tokens.join(" ")}`);
    return value;
  }

  #takes(token: string): boolean {
    if (this.#tokens[0] !== token) return false;
    this.#tokens.shift();
    return true;
  }

  #expect(token: string): void {
    if (!this.#takes(token)) throw new Error(`${token} is missing before ${this.#tokens.join(" ")}`);
  }

  #alternatives(): Value {
    const first = this.#comparison();
    if (!this.#takes("or")) return first;
    const [one, other] = [vectorOf(first), vectorOf(this.#alternatives())];
    return [
      ...one,
      ...other.filter(({ labels }) => !one.some((sample) => sameLabels(sample.labels, labels))),
    ];
  }

  #comparison(): Value {
    const left = this.#difference();
    const compare = OPERATORS[this.#tokens[0] ?? ""];
    if (compare === undefined) return left;
    this.#tokens.shift();
    const right = this.#difference();
    return vectorOf(left).filter(({ labels, value }) => {
      const other =
        typeof right === "number" ? right : right.find((one) => sameLabels(one.labels, labels))?.value;
      return other !== undefined && compare(value, other);
    });
  }

  #difference(): Value {
    const left = this.#operand();
    if (!this.#takes("-")) return left;
    const right = this.#operand();
    if (typeof right !== "number") throw new Error("only a number can be subtracted");
    return vectorOf(left).map(({ labels, value }) => ({ labels, value: value - right }));
  }

  #operand(): Value {
    if (this.#takes("(")) return this.#closed();
    const word = this.#tokens.shift() ?? "";
    if (/^\d/.test(word)) return Number(word);
    const aggregate = AGGREGATES[word];
    if (aggregate !== undefined) return this.#aggregate(aggregate);
    if (this.#tokens[0] === "(") return this.#call(word);
    return this.#found(word).flatMap(({ labels, values }) => {
      const value = values[this.#moment.at];
      return value === undefined ? [] : [{ labels, value }];
    });
  }

  #closed(): Value {
    const value = this.#alternatives();
    this.#expect(")");
    return value;
  }

  #aggregate(aggregate: (values: readonly number[]) => number): Value {
    const by: string[] = [];
    if (this.#takes("by")) {
      this.#expect("(");
      for (let label = this.#tokens.shift(); label !== ")"; label = this.#tokens.shift())
        if (label !== undefined && label !== ",") by.push(label);
    }
    this.#expect("(");
    const groups = new Map<string, { readonly labels: Labels; readonly values: number[] }>();
    for (const { labels, value } of vectorOf(this.#closed())) {
      const kept = Object.fromEntries(Object.entries(labels).filter(([label]) => by.includes(label)));
      const key = JSON.stringify(by.map((label) => kept[label]));
      const group = groups.get(key) ?? { labels: kept, values: [] };
      group.values.push(value);
      groups.set(key, group);
    }
    return [...groups.values()].map(({ labels, values }) => ({ labels, value: aggregate(values) }));
  }

  #call(name: string): Value {
    this.#expect("(");
    if (name === "time") {
      this.#expect(")");
      return this.#moment.time;
    }
    if (name === "abs")
      return vectorOf(this.#closed()).map(({ labels, value }) => ({ labels, value: Math.abs(value) }));
    if (name === "absent") return vectorOf(this.#closed()).length > 0 ? [] : [{ labels: {}, value: 1 }];
    if (name !== "rate" && name !== "increase") throw new Error(`not known: ${name}`);
    const found = this.#found(this.#tokens.shift() ?? "");
    this.#expect("[");
    const [, count = "", unit = ""] = /^(\d+)([smh])$/.exec(this.#tokens.shift() ?? "") ?? [];
    this.#expect("]");
    this.#expect(")");
    return this.#growth(found, Number(count) * (UNITS[unit] ?? Number.NaN), name === "rate");
  }

  /** A series counts from its first value within the range on: Prometheus does not know that it was 0 before. */
  #growth(found: readonly Series[], rangeS: number, isRate: boolean): readonly Sample[] {
    const { at, scrapeS } = this.#moment;
    return found.flatMap(({ labels, values }) => {
      const from = Math.max(0, at - Math.floor(rangeS / scrapeS) + 1);
      const known = values.slice(from, at + 1).filter((value) => value !== undefined);
      const [first, last] = [known[0], known.at(-1)];
      if (first === undefined || last === undefined || known.length < 2) return [];
      return [{ labels, value: (last - first) / (isRate ? rangeS : 1) }];
    });
  }

  /** The series of this name that the matchers, if any follow, let through. */
  #found(name: string): readonly Series[] {
    let found = this.#moment.series.filter((one) => one.name === name);
    if (!this.#takes("{")) return found;
    const [label = "", operator, quoted = ""] = this.#tokens.splice(0, 3);
    this.#expect("}");
    if (operator !== "=" && operator !== "=~") throw new Error(`not known: ${operator}`);
    const allowed = quoted.slice(1, -1).split(operator === "=~" ? "|" : /$^/);
    found = found.filter(({ labels }) => allowed.includes(labels[label] ?? ""));
    return found;
  }
}

function vectorOf(value: Value): readonly Sample[] {
  if (typeof value === "number") throw new Error("a vector is missing");
  return value;
}

const sameLabels = (one: Labels, other: Labels) => {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
};

/** Reads the text that a service gives to Prometheus. */
export function readSeries(text: string): Series[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    return [{ name, labels: labelsOf(labels), values: [Number(value)] }];
  });
}

/** Reads labels such as `network="n",node="0"`. */
export function labelsOf(text: string): Labels {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}
