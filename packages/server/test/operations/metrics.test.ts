import { crypto } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { GOOD_HEADERS, type TestService, testServices } from "../support/testService.js";
import {
  accountsOf,
  hashOf,
  innerOf,
  SECOND_KEY,
  SECOND_WAIVER,
  WAIVER,
  WAIVER_KEY,
} from "../support/user.js";

const services = testServices();

/** @returns the samples of `GET /metrics`, by their names with labels. */
async function scrape(url: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("text/plain");
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" ") + 1)),
    ]),
  );
}

async function metered(service: TestService): Promise<() => Promise<Map<string, number>>> {
  const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
  return () => scrape(url);
}

describe("the metrics", () => {
  it("count accepted submissions, lines by code, refused requests, and the node's answers", async () => {
    const service = await services.start({ maxBatchSize: 10 });
    const read = await metered(service);
    service.node.chain.refused.set(hashOf(innerOf(3)), "WRAPPER_GAS_LIMIT_TOO_LOW");
    await service.submit([innerOf(1), innerOf(2), innerOf(3), "0x", innerOf(4, 0, { gasPrice: 1n })]);
    await service.submit([innerOf(1)]);
    service.node.chain.reverting.add(hashOf(innerOf(5)));
    await service.submit([innerOf(5)], { query: "?wait=included" });
    await service.post("{}");
    await service.post(JSON.stringify({ transactions: Array(11).fill("0x") }));
    const metrics = await read();
    expect(metrics.get("gas_waiver_accepted_total")).toBe(4);
    const answered = (code: string) => metrics.get(`gas_waiver_line_seconds_count{code="${code}"}`);
    const codes = ["OK", "REVERTED", "BROADCAST_FAILED", "PARSE_ERROR", "VALIDATION_FAILED"];
    expect(codes.map(answered)).toEqual([3, 1, 1, 1, 1]);
    expect(metrics.get('gas_waiver_line_seconds_bucket{le="+Inf",code="OK"}')).toBe(3);
    const refused = [...metrics].filter(([name]) => name.startsWith("gas_waiver_refused_requests_total{"));
    expect(refused.reduce((sum, [, count]) => sum + count, 0)).toBe(2);
    expect(metrics.get('gas_waiver_node_answers_total{meaning="accepted"}')).toBe(3);
    expect(metrics.get('gas_waiver_node_answers_total{meaning="refused"}')).toBe(1);
    const backends = [...metrics].filter(([name]) => name.startsWith("gas_waiver_crypto_backend"));
    expect(backends).toEqual([[`gas_waiver_crypto_backend{backend="${crypto.name}"}`, 1]]);
  });

  it("count the submissions that were signed in the write that accepted them", async () => {
    const service = await services.start();
    const read = await metered(service);
    service.node.automine = false;
    for (let user = 1; user <= 20; user++) await service.submit([innerOf(user)]);
    // One write is one transaction, and has one time.
    const [row] = await service.query<{ count: number }>(
      "select count(*)::int from unfinished where signed_at = accepted_at",
    );
    expect(row?.count).toBeGreaterThan(0);
    expect((await read()).get("gas_waiver_accepted_signed_total")).toBe(row?.count);
  });

  it("show for each lane whether it takes work, the length of its queue, and the longest wait", async () => {
    const service = await services.start({
      waivers: accountsOf(WAIVER_KEY, SECOND_KEY),
      requestTimeoutMs: 100,
    });
    await service.node.close();
    await service.submit([1, 2, 3].map((user) => innerOf(user)));
    await service.query("update unfinished set accepted_at = now() - interval '1 minute'");
    // Starts a second service on the same store.
    const next = services.closeAfterTest(await service.startReplica());
    await next.submit([innerOf(4)]);
    // Readiness answers after a refresh of the lanes, which the metrics show.
    await next.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
    const metrics = await (await metered(next))();
    const laneMetric = (metric: string) =>
      [WAIVER, SECOND_WAIVER].map(
        (waiver) => metrics.get(`gas_waiver_lane_${metric}{waiver="${waiver}"}`) ?? -1,
      );
    expect(laneMetric("queued").reduce((a, b) => a + b)).toBeGreaterThanOrEqual(3);
    expect(laneMetric("under_way")).toEqual([0, 0]);
    expect(Math.max(...laneMetric("oldest_seconds"))).toBeGreaterThanOrEqual(60);
    expect(laneMetric("usable").every((usable) => usable === 0 || usable === 1)).toBe(true);
  });

  it("show the states of lanes that alarms ask for", async () => {
    const service = await services.start({ requestTimeoutMs: 500 }, { automine: false });
    await service.submit([innerOf(1)]);
    await service.submit([innerOf(2, 5)]);
    await service.query(`update unfinished set accepted_at = now() - interval '10 minutes',
      signings = 1, look_at = now() + interval '50 seconds', is_waiting = state = 'queued'`);
    await service.query("update lanes set foreign_uses = 1, foreign_use_at = now()");
    const read = await metered(service);
    const laneMetrics = async () => {
      await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
      const metrics = await read();
      const states = ["open", "usable", "stopped", "foreign_uses", "set_aside", "oldest_in_flight_seconds"];
      return states.map((state) =>
        Math.floor(metrics.get(`gas_waiver_lane_${state}{waiver="${WAIVER}"}`) ?? -1),
      );
    };
    await expect.poll(laneMetrics, { timeout: 60_000 }).toMatchObject([1, 1, 0, 1, 1, expect.any(Number)]);
    expect((await laneMetrics()).at(-1)).toBeGreaterThanOrEqual(600);
    await service.query("update lanes set state = 'stopped', foreign_use_at = now() - interval '25 hours'");
    const firstFour = async () => (await laneMetrics()).slice(0, 4);
    await expect.poll(firstFour, { timeout: 60_000 }).toEqual([0, 0, 1, 0]);
  });

  it("have a port of their own, without the routes of customers", async () => {
    const service = await services.start();
    const { url, port } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    expect((await service.call("GET", "/metrics")).status).toBe(404);
    expect((await fetch(`${url}/v1/health`)).status).toBe(404);
    await expect(service.server.listenMetrics({ host: "127.0.0.1", port })).rejects.toThrow();
    await service.server.close();
    await expect(fetch(`${url}/metrics`)).rejects.toThrow();
  });
});
