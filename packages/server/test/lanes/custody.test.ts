// Waivers whose private keys are held outside the service's process (D33).
import { bytesToHex, hexToBytes, privateKeyAccount, type WaiverAccount } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { mismatchedAccount } from "../../../protocol/test/support/waiverAccountContract.js";
import { outcomeOf, testServices } from "../support/testService.js";
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
const INCLUDED = { query: "?wait=included" };
const batch = (count: number, from = 1) => Array.from({ length: count }, (_, i) => innerOf(from + i));

/** A custody whose calls take different times to answer, like a key management service behind a network. */
function slowAccount(key: Uint8Array): WaiverAccount & { calls: number } {
  const { address, sign } = privateKeyAccount(key);
  return {
    address,
    calls: 0,
    async sign(hash) {
      this.calls++;
      await new Promise((resolve) => setTimeout(resolve, 1 + (hash[0] ?? 0) / 16));
      return await sign(hash);
    },
  };
}

describe("a custody outside of the service", () => {
  it("that answers late drives its lane end to end, in nonce order", async () => {
    const account = slowAccount(WAIVER_KEY);
    const service = await services.start({ waivers: [account] });
    const lines = await service.submit(batch(30), INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(Array(30).fill("success"));
    await service.submit([innerOf(1, 1)], INCLUDED);
    const { chain, sent } = service.node;
    expect(chain.nonceOf(WAIVER)).toBe(31n);
    expect(new Set(chain.executed)).toEqual(new Set([...batch(30), innerOf(1, 1)].map(hashOf)));
    expect([sent.length, account.calls]).toEqual([31, 31]);
  });

  it("that gives another key's signatures sends nothing; its lane stops, and its work goes to another", async () => {
    const mismatched = mismatchedAccount(
      hexToBytes(WAIVER),
      WAIVER_KEY.map((byte) => byte + 7),
    );
    const service = await services.start({ waivers: [mismatched], requestTimeoutMs: 300 });
    const lines = await service.submit(batch(5));
    expect(lines.map(outcomeOf)).toEqual(Array(5).fill("TIMEOUT/NOT_BROADCAST"));
    const [lane] = await service.until<{ reason: string }>(
      "select reason from lanes where state = 'stopped'",
    );
    expect(lane?.reason).toContain("was made by another key");
    expect(lane?.reason).toContain("open the lane then");
    expect(service.node.sent).toEqual([]);
    expect((await service.rows()).map(({ state }) => state)).toEqual(Array(5).fill("queued"));

    await service.server.setWaivers([mismatched, ...accountsOf(SECOND_KEY)]);
    await service.until("select from submissions having bool_and(state = 'included')");
    expect(service.node.chain.nonceOf(SECOND_WAIVER)).toBe(5n);
    expect(service.node.chain.nonceOf(WAIVER)).toBe(0n);
  });

  it("that fails trips the breaker of its lane alone, and its work goes to another", async () => {
    const failing = {
      address: hexToBytes(WAIVER),
      sign: () => Promise.reject(new Error("the device is locked")),
    };
    const service = await services.start({ waivers: [failing] });
    const lines = service.submit(batch(5), INCLUDED);
    const [lane] = await service.until<{ reason: string }>(
      "select reason from lanes where broken_until > now()",
    );
    expect(lane?.reason).toContain("the device is locked");
    await service.server.setWaivers([failing, ...accountsOf(SECOND_KEY)]);
    expect((await lines).map(outcomeOf)).toEqual(Array(5).fill("success"));
    expect(service.node.chain.nonceOf(SECOND_WAIVER)).toBe(5n);
  });

  it("that never signs one wrapper sends all others without a gap, and that one under another nonce", async () => {
    const { address, sign } = privateKeyAccount(WAIVER_KEY);
    let poisoned: string | undefined;
    const account = {
      address,
      async sign(hash: Uint8Array) {
        poisoned ??= bytesToHex(hash);
        if (bytesToHex(hash) === poisoned) throw new Error("not this one");
        return await sign(hash);
      },
    };
    const service = await services.start({ waivers: [account] });
    const lines = await service.submit(batch(6), INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(Array(6).fill("success"));
    expect(service.node.chain.nonceOf(WAIVER)).toBe(6n);
    expect(service.node.chain.executed.at(-1)).toBe(hashOf(innerOf(1)));
  });

  it("that never answers does not hold up the end of the service", async () => {
    const silentAccount = { address: hexToBytes(WAIVER), sign: () => new Promise<never>(() => {}) };
    const service = await services.start({
      waivers: [silentAccount],
      shutdownMs: 200,
      requestTimeoutMs: 100,
    });
    await service.submit(batch(2));
    await service.server.close();
    expect(service.node.sent).toEqual([]);
  });
});
