import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Anvil, startAnvil } from "../bench/devnet/anvil.mjs";
import { gasWaiver } from "./support/commandLine.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { type RpcCall, rpcOf } from "./support/jsonRpc.js";
import { startServiceProcess } from "./support/service.js";
import { submit } from "./support/submit.js";
import { API_KEY, account, CHAIN_ID, MARKER, transferOf } from "./support/user.js";

// The service on a foreign node: anvil knows no waivers. At a price of 0 it takes a wrapper as a plain transaction to the
// marker, and never executes the InnerTx.

let anvil: Anvil;
let call: RpcCall;
beforeAll(async () => {
  anvil = await startAnvil();
  call = rpcOf(anvil.url);
  // The start asks for finality, which anvil tells from its second epoch on.
  await call("anvil_mine", "0x50");
});
afterAll(() => anvil?.close());

const WAIVER = account(10);
const SENDER = account(1);
const TIMEOUT_MS = 2_000;

async function recordOf(url: string, id: string): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${API_KEY}` };
  return (await (await fetch(`${url}/v1/submissions/${id}`, { headers })).json()) as Record<string, unknown>;
}

async function readyOf(url: string): Promise<{ readonly parts: unknown }> {
  const headers = { authorization: `Bearer ${API_KEY}` };
  return (await (await fetch(`${url}/v1/ready`, { headers })).json()) as { parts: unknown };
}

async function waiverNonce(): Promise<number> {
  return Number(await call("eth_getTransactionCount", WAIVER.address, "latest"));
}

describe("the service on a chain that knows no waivers", () => {
  it("refuses to start by default, because there is no registry", async () => {
    const program = gasWaiver(
      [
        "serve",
        "--port",
        "0",
        "--rpc-url",
        anvil.url,
        "--chain-id",
        String(CHAIN_ID),
        "--log-level",
        "silent",
        "--data-dir",
        freshFolder(),
      ],
      { GAS_WAIVER_KEYS: WAIVER.privateKey, GAS_WAIVER_API_KEYS: API_KEY },
    );
    expect((await program.ended).status).toBe(1);
    expect(program.stderr).toMatch(/the WaiverRegistry at 0x0{36}f334 cannot be read/);
  });

  it("reports neither inclusion nor failure of a wrapper that the chain took and did not execute, sends it once, and stops the lane", async () => {
    const flags = ["--request-timeout", String(TIMEOUT_MS), "--resend-after", "500", "--reorg-depth", "64"];
    const service = startServiceProcess({ rpcUrl: anvil.url, dataDir: await dataFolder(), flags });
    const { url } = await service.ready();
    const before = await waiverNonce();
    const raw = await SENDER.signTransaction(transferOf(MARKER.replace("f333", "abcd"), 1n, 0));
    const [accepted] = await submit(url, [raw]);
    expect(accepted).toMatchObject({ success: true });
    const { id = "" } = accepted ?? {};

    await call("anvil_mine", "0x1");
    const { wrapperHash, txHash } = await recordOf(url, id);
    expect(await call("eth_getTransactionReceipt", wrapperHash)).toMatchObject({ status: "0x1" });
    expect(await call("eth_getTransactionReceipt", txHash)).toBeNull();
    // Deeper than any reorg: now the chain's blocks prove that the wrapper's nonce is used, by the wrapper itself.
    await call("anvil_mine", "0x50");
    const [line] = await submit(url, [raw], { query: "?wait=included" });
    expect(line).toMatchObject({ id, success: false, error: { code: "TIMEOUT", reason: "NOT_INCLUDED" } });
    expect(await recordOf(url, id)).toMatchObject({
      state: "broadcast",
      certainty: "broadcast",
      wrapperHash,
    });
    const stopped = { waivers: { ok: false, message: expect.stringContaining("is stopped") } };
    await vi.waitFor(async () => expect((await readyOf(url)).parts).toMatchObject(stopped), {
      timeout: 200_000,
      interval: 100,
    });
    const stops = service.stderr.split("\n").filter((entry) => entry.includes("does not know waivers"));
    expect(stops).toHaveLength(1);
    expect(stops[0]).toContain(`the chain executed the wrapper ${wrapperHash} in block`);
    expect(service.stderr).not.toContain("nonces contradict");
    expect(await waiverNonce()).toBe(before + 1);
    expect(Number(await call("eth_getTransactionCount", SENDER.address, "latest"))).toBe(0);
    await service.end();
  });
});
