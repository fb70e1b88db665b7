// Something else sends with a waiver's key under nonces that the lane has given to nobody.
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, beforeAll, expect, it } from "vitest";
import { queryOnce, queryUntil } from "../packages/server/test/support/testSessions.js";
import { useTestPostgres } from "../packages/server/test/support/testStore.js";
import type { Program } from "./support/program.js";
import { startServiceProcess } from "./support/service.js";
import { submit } from "./support/submit.js";
import { account, transferOf } from "./support/user.js";

const WAIVER = account(10).address;
const postgres = useTestPostgres();
let devnet: Devnet;
let rpcUrl: string;
let databaseUrl: string;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
  await devnet.request({ method: "anvil_setBalance", params: [WAIVER, "0xde0b6b3a7640000"] });
  databaseUrl = await postgres.createDatabase();
});
afterAll(() => devnet?.close());

/** @returns the hash of a payment by the waiver, which is in a block. */
const payWithWaiver = () =>
  devnet.request({
    method: "eth_sendTransaction",
    params: [{ from: WAIVER, to: account(7).address, value: "0x1" }],
  }) as Promise<string>;

async function start() {
  const service = startServiceProcess({ rpcUrl, databaseUrl, flags: ["--metrics-port", "0"] });
  const { url } = await service.ready();
  const [, metrics = ""] = await service.line(/^metrics at (\S+)/);
  const foreignUses = async () =>
    /^gas_waiver_lane_foreign_uses\{[^}]*\} (\d+)/m.exec(await (await fetch(metrics)).text())?.[1];
  return { service, url, foreignUses };
}

async function send(url: string, nonce: number): Promise<void> {
  const raw = await account(0).signTransaction(transferOf(account(7).address, 1n, nonce));
  expect(await submit(url, [raw], { query: "?wait=included" })).toMatchObject([{ success: true }]);
}

const findAccounted = (below: number) =>
  queryUntil(databaseUrl, "select from lanes where known_below = $1", [below]);
const reports = ({ stderr }: Program) =>
  stderr.split("\n").filter((line) => line.includes("transactions that are not ours"));

it("is counted and named once, at once or when the service runs again, but not what the waiver sent before its lane looked", async () => {
  await payWithWaiver();
  const first = await start();
  await send(first.url, 0);
  await findAccounted(2);
  expect([await first.foreignUses(), reports(first.service)]).toEqual(["0", []]);

  const hash = await payWithWaiver();
  await expect.poll(first.foreignUses, { timeout: 60_000 }).toBe("1");
  await findAccounted(3);
  await send(first.url, 1);
  await findAccounted(4);
  expect(reports(first.service)).toEqual([expect.stringContaining(`"transactions":["2 ${hash}"]`)]);
  await first.service.end();

  const missed = await payWithWaiver();
  const second = await start();
  await expect.poll(second.foreignUses, { timeout: 60_000 }).toBe("2");
  await findAccounted(5);
  await send(second.url, 2);
  expect(reports(second.service)).toEqual([expect.stringContaining(`"transactions":["4 ${missed}"]`)]);
  await second.service.end();
  // None of them took a nonce that the lane had given away.
  expect(await queryOnce(databaseUrl, "select from lanes where state = 'open'")).toHaveLength(1);
});
