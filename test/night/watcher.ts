import { readSeries, type Series } from "../docs/promql.js";
import { Alarms } from "./alarms.js";
import { ask } from "./ask.js";
import type { NightReplica } from "./nightReplica.js";

/** The interval of the scrapes, in s; the guide asks for one to fifteen. */
const SCRAPE_S = 2;
/** A busy machine answers late; a frozen replica never. */
const TIMEOUT_MS = 4_000;

/** The trouble of the moment, and when it was seen; times by `performance.now()`. */
export interface Sighting {
  /** The text that names the trouble: in a line of a log, of the metrics, or of readiness. */
  readonly signal: Pick<RegExp, "test">;
  readonly alarms: readonly string[];
  signalAt?: number;
  signalText?: string;
  unreadyAt?: number;
  alarmAt?: number;
  /** All alarms that fired. */
  readonly fired: Set<string>;
}

interface Scrape {
  readonly series: readonly Series[];
  /** Lines of metrics and readiness. */
  readonly lines: readonly string[];
  readonly isReady: boolean;
}

/** Looks at the replicas as Prometheus, a proxy and a reader of logs do. */
export class Watcher {
  readonly #replicas: readonly NightReplica[];
  readonly #apiKey: string;
  readonly #alarms: Alarms;
  #timer: NodeJS.Timeout | undefined;
  #sighting: Sighting | undefined;
  #lines: readonly string[] = [];
  #firing: ReadonlySet<string> = new Set();
  #areReady = false;
  #scraping: Promise<void> = Promise.resolve();

  constructor(
    replicas: readonly NightReplica[],
    options: {
      readonly apiKey: string;
      readonly changeRule: (expr: string) => string;
      /** Called with each line of a replica's log. */
      readonly onLog: (line: string) => void;
    },
  ) {
    this.#replicas = replicas;
    this.#apiKey = options.apiKey;
    this.#alarms = new Alarms(SCRAPE_S, options.changeRule);
    for (const replica of replicas)
      replica.onLine = (line) => {
        options.onLog(`${replica.name}: ${line}`);
        this.#see([`log ${replica.name}: ${line}`]);
      };
  }

  get alarmNames(): readonly string[] {
    return this.#alarms.names;
  }

  start(): void {
    let isScraping = false;
    this.#timer = setInterval(() => {
      // A scrape that takes longer than the interval is the only one.
      if (isScraping) return;
      isScraping = true;
      this.#scraping = this.#scrapeAll().finally(() => {
        isScraping = false;
      });
    }, SCRAPE_S * 1_000);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#scraping;
  }

  /** Looks for a trouble from now on. */
  look(signal: Sighting["signal"], alarms: readonly string[]): Sighting {
    this.#sighting = { signal, alarms, fired: new Set() };
    return this.#sighting;
  }

  /** True if all replicas are ready, and nothing names the trouble any more. Its alarms may look back for some minutes. */
  isOver({ signal }: Pick<Sighting, "signal">): boolean {
    return this.#areReady && !this.#lines.some((line) => signal.test(line));
  }

  /** True if also none of its alarms fires. */
  isCalm({ signal, alarms }: Pick<Sighting, "signal" | "alarms">): boolean {
    return this.isOver({ signal }) && !alarms.some((name) => this.#firing.has(name));
  }

  /** The state in words, for whoever waits for another one. */
  describe(): string {
    const readiness = this.#lines.filter((line) => line.startsWith("readiness "));
    return `firing: ${[...this.#firing].join(", ") || "none"}; ${readiness.join("; ")}`;
  }

  async #scrapeAll(): Promise<void> {
    const scrapes = await Promise.all(this.#replicas.map((replica) => this.#scrape(replica)));
    this.#lines = scrapes.flatMap(({ lines }) => lines);
    this.#areReady = scrapes.every(({ isReady }) => isReady);
    this.#firing = this.#alarms.scrape(scrapes.flatMap(({ series }) => series));
    this.#see(this.#lines);
    const sighting = this.#sighting;
    if (sighting === undefined) return;
    if (!this.#areReady) sighting.unreadyAt ??= performance.now();
    for (const name of this.#firing) sighting.fired.add(name);
    if (sighting.alarms.some((name) => this.#firing.has(name))) sighting.alarmAt ??= performance.now();
  }

  #see(lines: readonly string[]): void {
    const sighting = this.#sighting;
    if (sighting === undefined || sighting.signalAt !== undefined) return;
    const text = lines.find((line) => sighting.signal.test(line));
    if (text !== undefined) Object.assign(sighting, { signalAt: performance.now(), signalText: text });
  }

  async #scrape({ name, url, metricsUrl }: NightReplica): Promise<Scrape> {
    const headers = { authorization: `Bearer ${this.#apiKey}` };
    const [metrics, ready] = await Promise.all([
      ask(`${metricsUrl}/metrics`, { timeoutMs: TIMEOUT_MS }).catch(() => undefined),
      ask(`${url}/v1/ready`, { timeoutMs: TIMEOUT_MS, headers }).catch(() => undefined),
    ]);
    const up: Series = { name: "up", labels: { job: "gas-waiver" }, values: [metrics === undefined ? 0 : 1] };
    const series = [up, ...readSeries(metrics?.text ?? "")].map((one) => ({
      ...one,
      labels: { ...one.labels, instance: name },
    }));
    const lines = [
      `up{instance="${name}"} ${up.values[0]}`,
      `readiness ${name}: ${ready?.status} ${ready?.text}`,
      ...(metrics?.text ?? "")
        .split("\n")
        .filter((line) => !line.startsWith("#"))
        .map((line) => `metric ${name}: ${line}`),
    ];
    return { series, lines, isReady: ready?.status === 200 };
  }
}
