// The Prometheus rules of docs/alarms.yaml name metrics and labels that the service has, and pages that are there.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { SERVE_SETTINGS } from "../../packages/cli/src/serve/serveSettings.js";
import type { Setting } from "../../packages/cli/src/settings/setting.js";
import { isReason, statusOf } from "../../packages/protocol/src/reasons/index.js";
import { REASON_NOTES } from "../../packages/protocol/src/reasons/notes.js";
import { createMetrics } from "../../packages/server/src/model/telemetry/metrics.js";
import { createProcessMetrics } from "../../packages/server/src/model/telemetry/processMetrics.js";
import { addStoreGauges } from "../../packages/server/src/store/storeGauges.js";
import { metricsPage, STORE_WITHOUT_TROUBLE } from "../../scripts/pages/metricsPage.js";
import { root } from "../support/program.js";

interface Alarm {
  readonly name: string;
  readonly expr: string;
  readonly runbook: string;
}

const read = (file: string) => readFileSync(join(root, file), "utf8");

/** The lines that the file may have. Everything else would need a parser of YAML. */
const LINES = [
  /^#.*$/,
  /^groups:$/,
  /^ {2}- name: [a-z-]+$/,
  /^ {4}rules:$/,
  /^ {6}- alert: [A-Za-z]+$/,
  /^ {8}expr: [^#]+$/,
  /^ {8}for: \d+[sm]$/,
  /^ {8}labels: \{ severity: (critical|warning) \}$/,
  /^ {8}annotations:$/,
  /^ {10}summary: "[^"]+"$/,
  /^ {10}runbook_url: \S+$/,
];
const text = read("docs/alarms.yaml").trimEnd();

const alarms = text
  .split("- alert: ")
  .slice(1)
  .map((rule): Alarm => {
    const textOf = (key: string) => new RegExp(`^ +${key}: (.+)$`, "m").exec(rule)?.[1] ?? "";
    return { name: /^\w+/.exec(rule)?.[0] ?? "", expr: textOf("expr"), runbook: textOf("runbook_url") };
  });

/** Labels that each metric has: Prometheus adds them, or a service with several networks. */
const EVERYWHERE = ["network", "instance"];

/** The labels of each metric of the reference, by its name; Prometheus makes `up` itself. */
const metrics = new Map<string, readonly string[]>([
  ["up", ["job"]],
  ...[...metricsPage().matchAll(/^\| `(gas_waiver_\w+)` \| (\w+) \| ([^|]*) \|/gm)].map(
    ([, name = "", type, labels = ""]): [string, readonly string[]] => [
      type === "histogram" ? `${name}_count` : name,
      [...labels.matchAll(/\w+/g)].map(([label]) => label),
    ],
  ),
]);

const metricsIn = (expr: string) => [...expr.matchAll(/\bgas_waiver_\w+|\bup\b/g)].map(([name]) => name);

describe("docs/alarms.yaml", () => {
  it("is read as it is meant: each line has one of a few forms", () => {
    expect(text.split("\n").filter((line) => !LINES.some((form) => form.test(line)))).toEqual([]);
  });

  it("asks for metrics that exist, by labels that they have", () => {
    const problems = alarms.flatMap(({ name, expr }) => {
      const named = metricsIn(expr);
      const labels = [...expr.matchAll(/by \(([\w, ]+)\)|\{(\w+)=/g)]
        .flatMap(([, by, matcher = ""]) => by?.split(", ") ?? matcher)
        .filter((label) => !EVERYWHERE.includes(label));
      const unknown = named.filter((metric) => !metrics.has(metric));
      const missing = labels.filter(
        (label) => !named.every((metric) => metrics.get(metric)?.includes(label)),
      );
      return [...(named.length === 0 ? ["no metric"] : []), ...unknown, ...missing].map(
        (what) => `${name}: ${what}`,
      );
    });
    expect(problems).toEqual([]);
  });

  it("names values of labels that have a series from the start: an increase from nothing to 1 is none", async () => {
    const registry = new Registry();
    const lane = {
      waiver: "0x1",
      usable: true,
      open: true,
      stopped: false,
      owner: undefined,
      wait: undefined,
    };
    const amounts = { queued: 0, inFlight: 0, oldestMs: 0, oldestInFlightMs: 0, setAside: 0, foreignUses: 0 };
    createMetrics(registry, () => [{ ...lane, ...amounts }]).custodyOf("0x1");
    createProcessMetrics(registry);
    addStoreGauges(registry, STORE_WITHOUT_TROUBLE);
    const series = (await registry.metrics()).split("\n");
    registry.clear();
    const has = (metric: string, label: string, value: string) =>
      series.some((line) => line.startsWith(`${metric}{`) && line.includes(`${label}="${value}"`));
    const named = alarms.flatMap(({ expr }) =>
      [...expr.matchAll(/\b(gas_waiver_\w+)\{(\w+)=~?"([^"]+)"\}/g)].flatMap(
        ([, metric = "", label = "", values = ""]) =>
          values.split("|").map((value) => [metric, label, value] as const),
      ),
    );
    expect(named.length).toBeGreaterThan(8);
    // A backend that is not in use has no series, and its alarm asks for a state.
    const isState = ([metric]: (typeof named)[number]) => metric === "gas_waiver_crypto_backend";
    expect(named.filter((one) => !isState(one) && !has(...one))).toEqual([]);
  });

  it("has an alarm for each refusal of a whole request that is the service's trouble, by its status", () => {
    const [, named = ""] = /refused_requests_total\{reason=~"([^"]+)"/.exec(text) ?? [];
    const troubles = Object.entries(REASON_NOTES)
      .filter(([reason, { where }]) => where.includes("http") && isReason(reason) && statusOf(reason) >= 500)
      .map(([reason]) => reason)
      // A replica that shuts down is gone within seconds, and its proxy knows.
      .filter((reason) => reason !== "SHUTTING_DOWN");
    expect(named.split("|").sort()).toEqual(troubles.sort());
  });

  it("shows values as people read them: by humanize, humanizeDuration or printf", () => {
    const summaries = (text.match(/summary: ".*"/g) ?? []).filter((summary) => summary.includes("$value"));
    expect(summaries.length).toBeGreaterThan(8);
    const readable = /\{\{ \$value \| (humanize(Duration)?|printf `%\.\df`) \}\}/g;
    expect(summaries.filter((summary) => summary.replace(readable, "").includes("$value"))).toEqual([]);
  });

  it("has an alarm for each state that wants a person", () => {
    const asked = new Set(alarms.flatMap(({ expr }) => metricsIn(expr)));
    const states = [
      ...[
        "lane_stopped",
        "lane_foreign_uses",
        "lane_usable",
        "lane_oldest_seconds",
        "lane_oldest_in_flight_seconds",
      ],
      ...["lane_set_aside", "node_head_age_seconds", "node_lag_seconds", "node_usable"],
      ...["store_trouble", "store_up", "store_weaknesses", "store_clock_ahead_seconds"],
      ...["network_up", "line_seconds_count", "refused_requests_total", "certificate_end_seconds"],
    ];
    expect(states.filter((state) => !asked.has(`gas_waiver_${state}`))).toEqual([]);
  });

  it("has a runbook for each: what it means, costs, what to look at, to type and not to do, and no other", () => {
    const page = "docs/guides/runbooks.md";
    const sections = read(page).split("\n### ").slice(1);
    const told = sections.map((section) => section.split("\n")[0] ?? "");
    expect(told).toEqual(alarms.map(({ name }) => name));
    for (const { name, runbook } of alarms) expect(runbook).toBe(`${page}#${name.toLowerCase()}`);
    const asked = ["**Means:**", "**Costs users:**", "**Look:**", "**Type:**", "**Do not**"];
    const lines = sections.map((section) => section.split("\n## ")[0]?.match(/^- \*\*[^*]+\*\*(?= \S)/gm));
    expect(lines).toEqual(alarms.map(() => asked.map((word) => `- ${word}`)));
  });

  it("has runbooks that ask for a SIGHUP only after a change of what a running service takes over", () => {
    const settings = Object.values<Setting<unknown>>(SERVE_SETTINGS);
    const restarted = settings.flatMap(({ flag, reload }) => (reload || !flag ? [] : [`--${flag}`]));
    const asking = read("docs/guides/runbooks.md")
      .split("\n")
      .filter((line) => line.includes("SIGHUP"));
    expect(asking.length).toBeGreaterThan(2);
    const wrong = asking.filter((line) => restarted.some((flag) => line.includes(`\`${flag}\``)));
    expect(wrong).toEqual([]);
  });
});
