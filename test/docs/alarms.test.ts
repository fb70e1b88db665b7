// The Prometheus rules of docs/alarms.yaml name metrics and labels that the service has, and pages that are there.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { metricsPage } from "../../scripts/pages/metricsPage.js";
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
  /^ {8}expr: [^#:]+$/,
  /^ {8}for: \d+[sm]$/,
  /^ {8}labels: \{ severity: (critical|warning) \}$/,
  /^ {8}annotations:$/,
  /^ {10}summary: "[^"]+"$/,
  /^ {10}runbook: \S+$/,
];
const text = read("docs/alarms.yaml").trimEnd();

const alarms = text
  .split("- alert: ")
  .slice(1)
  .map((rule): Alarm => {
    const textOf = (key: string) => new RegExp(`^ +${key}: (.+)$`, "m").exec(rule)?.[1] ?? "";
    return { name: /^\w+/.exec(rule)?.[0] ?? "", expr: textOf("expr"), runbook: textOf("runbook") };
  });

/** The labels of each metric of the reference, by its name. */
const metrics = new Map(
  [...metricsPage().matchAll(/^\| `(gas_waiver_\w+)` \| \w+ \| ([^|]*) \|/gm)].map(
    ([, name = "", labels = ""]) => [name, [...labels.matchAll(/\w+/g)].map(([label]) => label)],
  ),
);

const metricsIn = (expr: string) => [...expr.matchAll(/gas_waiver_\w+/g)].map(([name]) => name);

describe("docs/alarms.yaml", () => {
  it("is read as it is meant: each line has one of a few forms", () => {
    expect(text.split("\n").filter((line) => !LINES.some((form) => form.test(line)))).toEqual([]);
  });

  it("asks for metrics that exist, by labels that they have", () => {
    const problems = alarms.flatMap(({ name, expr }) => {
      const named = metricsIn(expr);
      const labels = [...expr.matchAll(/by \((\w+)\)|\{(\w+)=/g)].map(
        ([, by, matcher]) => by ?? matcher ?? "",
      );
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
      ...["store_trouble", "store_up", "store_weaknesses"],
    ];
    expect(states.filter((state) => !asked.has(`gas_waiver_${state}`))).toEqual([]);
  });

  it("is told in the guide to monitoring, alarm by alarm, and leads to headings that are there", () => {
    const guide = read("docs/guides/monitoring.md");
    const told = [...guide.matchAll(/`(GasWaiver\w+)`/g)].map(([, name]) => name);
    expect(told.sort()).toEqual(alarms.map(({ name }) => name).sort());
    const anchorsOf = (file: string) =>
      [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
        title.toLowerCase().replaceAll(" ", "-"),
      );
    const lost = alarms.filter(({ runbook }) => {
      const [file = "", anchor] = runbook.split("#");
      return anchor !== undefined && !anchorsOf(file).includes(anchor);
    });
    expect(lost.map(({ runbook }) => runbook)).toEqual([]);
  });
});
