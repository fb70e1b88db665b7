// Each rule of docs/alarms.yaml fires in `promtool test rules`, within a minute of its trouble, with series that the test makes,
// and not before. Without promtool (Debian's package `prometheus`) the expressions alone are evaluated, without their `for`: over
// these series, and over what a service shows.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { setLaneState } from "../../packages/server/test/support/laneStates.js";
import { testServices } from "../../packages/server/test/support/testService.js";
import { WAIVER } from "../../packages/server/test/support/user.js";
import { freshFolder } from "../support/freshFolder.js";
import { root } from "../support/program.js";
import { evaluate, labelsOf, readSeries, type Series } from "./promql.js";

const PROMTOOL = spawnSync("promtool", ["--version"]).status === 0;
const RULES = join(root, "docs", "alarms.yaml");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}

const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
  readFileSync(RULES, "utf8"),
);
const rules = groups.flatMap((group) => group.rules);

/** The interval of the scrapes, and the number of those before a trouble begins. */
const SCRAPE_S = 10;
const CALM = 12;
/** An alarm has to come within this time of its trouble. */
const ALARM_S = 60;

/** The values of a series: `calm` until the trouble begins, then `trouble`. An increment a scrape for counters. */
const steps = (calm: number, trouble: number) => `${calm}x${CALM} ${trouble}x100`;
const grows = (each: number) => `0x${CALM} 0+${each}x100`;

const LANE = '{network="n",waiver="0x1",instance="a"}';
const other = (series: string) => series.replace('network="n"', 'network="m"');

/**
 * The trouble of each alarm: its series with their values. A healthy network or replica beside it hides nothing. A certificate's
 * days are counted from 1970, where the time of promtool begins.
 */
const TROUBLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  GasWaiverLaneStopped: { [`gas_waiver_lane_stopped${LANE}`]: steps(0, 1) },
  GasWaiverNonceHeld: {
    'gas_waiver_lane_waits_seconds{network="n",waiver="0x1",cause="jam"}': steps(0, 12),
  },
  GasWaiverForeignUse: { [`gas_waiver_lane_foreign_uses${LANE}`]: steps(0, 1) },
  GasWaiverWrongSignature: {
    'gas_waiver_custody_answers_total{network="n",waiver="0x1",outcome="wrong"}': steps(0, 1),
  },
  GasWaiverCustodyFails: {
    'gas_waiver_custody_answers_total{network="n",waiver="0x1",outcome="failed"}': grows(1),
  },
  GasWaiverLaneUnusable: {
    [`gas_waiver_lane_open${LANE}`]: steps(1, 1),
    [`gas_waiver_lane_usable${LANE}`]: steps(1, 0),
  },
  GasWaiverNoLaneUsable: {
    [`gas_waiver_lane_usable${LANE}`]: steps(1, 0),
    [`gas_waiver_lane_usable${other(LANE)}`]: steps(1, 1),
  },
  GasWaiverWaitsInQueue: { [`gas_waiver_lane_oldest_seconds${LANE}`]: steps(0, 6) },
  GasWaiverWaitsForBlock: { [`gas_waiver_lane_oldest_in_flight_seconds${LANE}`]: steps(0, 301) },
  GasWaiverSetAside: { [`gas_waiver_lane_set_aside${LANE}`]: steps(0, 1) },
  GasWaiverHeadOld: {
    'gas_waiver_node_head_age_seconds{network="n",node="0"}': `0x${CALM} ${SCRAPE_S}+${SCRAPE_S}x100`,
    'gas_waiver_node_head_age_seconds{network="m",node="0"}': steps(1, 1),
  },
  GasWaiverNodeBehind: { 'gas_waiver_node_lag_seconds{network="n",node="0"}': steps(0, 15) },
  GasWaiverNodeUnusable: {
    'gas_waiver_node_usable{network="n",node="0",instance="a"}': steps(1, 0),
    'gas_waiver_node_usable{network="n",node="0",instance="b"}': steps(1, 1),
  },
  GasWaiverReplicaDown: {
    'up{job="gas-waiver",instance="a"}': steps(1, 0),
    'up{job="gas-waiver",instance="b"}': steps(1, 1),
  },
  GasWaiverNetworkDown: {
    'gas_waiver_network_up{network="n"}': steps(1, 0),
    'gas_waiver_network_up{network="m"}': steps(1, 1),
  },
  GasWaiverLinesFail: { 'gas_waiver_line_seconds_count{network="n",code="TIMEOUT"}': grows(2) },
  GasWaiverRefuses: {
    'gas_waiver_refused_requests_total{network="n",reason="STORE_UNAVAILABLE"}': grows(2),
  },
  GasWaiverKeyFloods: {
    'gas_waiver_key_refused_requests{network="n",key="0123456789abcdef"}': steps(0, 900),
  },
  GasWaiverReloadRefused: { 'gas_waiver_reload_refused{instance="a"}': steps(0, 1) },
  GasWaiverCertificateEnds: { 'gas_waiver_certificate_end_seconds{instance="a"}': steps(9e8, 1_000_000) },
  GasWaiverSlowCryptography: { 'gas_waiver_crypto_backend{backend="javascript"}': steps(0, 1) },
  GasWaiverSynchronousStandbyAway: { 'gas_waiver_store_trouble{kind="noStandby"}': steps(0, 1) },
  GasWaiverDatabaseDown: {
    'gas_waiver_store_up{instance="a"}': steps(1, 0),
    'gas_waiver_store_up{instance="b"}': steps(1, 1),
  },
  GasWaiverDatabaseCertificateEnds: {
    'gas_waiver_store_certificate_end_seconds{instance="a"}': steps(9e8, 1_000_000),
  },
  GasWaiverDatabaseBlocked: { 'gas_waiver_store_blocked_seconds{instance="a"}': steps(0, 6) },
  GasWaiverClocksApart: { 'gas_waiver_store_clock_ahead_seconds{instance="a"}': steps(0, -302_400) },
  GasWaiverTransactionOpen: { 'gas_waiver_store_oldest_transaction_seconds{instance="a"}': steps(0, 3_600) },
  GasWaiverDatabaseWeak: { 'gas_waiver_store_weaknesses{instance="a"}': steps(0, 1) },
};

/** States that want a person within the day, or that are no trouble before minutes have passed: they wait for some minutes. */
const PATIENT: ReadonlySet<string> = new Set([
  "GasWaiverSetAside",
  "GasWaiverDatabaseWeak",
  "GasWaiverWaitsForBlock",
  "GasWaiverSlowCryptography",
]);

/** A certificate that is fine until the trouble begins ends in years; 0 stands for none, and is none. */
const FINE: Readonly<Record<string, string>> = {
  'up{job="gas-waiver",instance="b"}': "1x200",
  'gas_waiver_certificate_end_seconds{instance="b"}': "0x200",
};

/**
 * Has promtool evaluate the rules for the troubles of these alarms, each by itself.
 * @param secondOf the time after the trouble's begin at which it looks, in s.
 * @returns the alarms of these that fire then, with their labels.
 */
function firing(alarms: readonly Rule[], secondOf: (alarm: string) => number): string[] {
  const file = join(freshFolder(), "test.yaml");
  const tests = alarms.map(({ alert }) => ({
    interval: `${SCRAPE_S}s`,
    input_series: Object.entries({ ...FINE, ...TROUBLES[alert] }).map(([series, values]) => ({
      series,
      values,
    })),
    alert_rule_test: [
      { eval_time: `${CALM * SCRAPE_S + secondOf(alert)}s`, alertname: alert, exp_alerts: [] },
    ],
  }));
  writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: `${SCRAPE_S}s`, tests }));
  const { stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
  // Promtool tells what differs from the expectation, which is that nothing fires.
  const told = (stdout + stderr).replaceAll("\n", " ");
  return told
    .split(/(?=alertname: ?\w)/)
    .slice(1)
    .map((one) => `${/alertname: ?(\w+)/.exec(one)?.[1]} ${/severity="(\w+)"/.exec(one)?.[1]}`);
}

/** Reads a series as promtool does: `1x3` is 1 and three times 1 more, `0+2x3` is 0, 2, 4, 6. */
function seriesOf([series, values]: readonly [string, string]): Series {
  const [, name = "", labels = ""] = /^(\w+)\{(.*)\}$/.exec(series) ?? [];
  const expanded = values.split(" ").flatMap((part) => {
    const [, first, step = 0, times] = /^(-?[\d.]+)(?:\+(\d+))?x(\d+)$/.exec(part) ?? [];
    return Array.from({ length: Number(times) + 1 }, (_, i) => Number(first) + i * Number(step));
  });
  return { name, labels: labelsOf(labels), values: expanded };
}

describe("the expressions of the alarms", () => {
  it.each(rules)("$alert holds in its trouble, and not before", ({ alert, expr }) => {
    const series = Object.entries({ ...FINE, ...TROUBLES[alert] }).map(seriesOf);
    const holdsAt = (at: number) =>
      evaluate(expr, { series, at, scrapeS: SCRAPE_S, time: at * SCRAPE_S }).length > 0;
    expect([holdsAt(CALM), holdsAt(CALM + ALARM_S / SCRAPE_S)]).toEqual([false, true]);
  });
});

/** True of a test: its chain rests, its database does not wait for the disk, and its machine may lack the native addon. */
const OF_TESTS = ["GasWaiverHeadOld", "GasWaiverDatabaseWeak", "GasWaiverSlowCryptography"];

describe("the expressions of the alarms, over what a service shows,", () => {
  const services = testServices();

  it("hold in its troubles, and not before", async () => {
    const service = await services.start();
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const holding = async () => {
      const shown = readSeries(await (await fetch(`${url}/metrics`)).text());
      const up = { name: "up", labels: { job: "gas-waiver" }, values: [1] };
      const moment = { series: [...shown, up], at: 0, scrapeS: SCRAPE_S, time: Date.now() / 1_000 };
      const found = rules.filter(({ expr }) => evaluate(expr, moment).length > 0).map(({ alert }) => alert);
      return found.filter((alert) => !OF_TESTS.includes(alert));
    };
    const untilHolding = (...alarms: string[]) => expect.poll(holding, { timeout: 60_000 }).toEqual(alarms);
    await untilHolding();
    service.server.noteReload(["a setting is wrong"]);
    await untilHolding("GasWaiverReloadRefused");
    service.server.noteReload([]);
    await untilHolding();
    await setLaneState(service, WAIVER, "stopped");
    await untilHolding("GasWaiverLaneStopped", "GasWaiverNoLaneUsable");
    await setLaneState(service, WAIVER, "open");
    await untilHolding();
    await service.node.close();
    await expect.poll(holding, { timeout: 60_000 }).toContain("GasWaiverNodeUnusable");
  });
});

it("has a trouble for each alarm", () => {
  expect(Object.keys(TROUBLES)).toEqual(rules.map(({ alert }) => alert));
});

describe.runIf(PROMTOOL)("the alarms, by promtool,", () => {
  it("stay silent until their troubles begin", () => {
    expect(firing(rules, () => -SCRAPE_S)).toEqual([]);
  });

  it("fire within a minute of their troubles, but for those that wait for some", () => {
    const limit = (alarm: string) => SCRAPE_S + (PATIENT.has(alarm) ? 6 * ALARM_S : ALARM_S);
    expect(firing(rules, limit)).toEqual(rules.map(({ alert, labels }) => `${alert} ${labels.severity}`));
  });
});
