import type { Hex } from "@gas-waiver/protocol";
import { afterEach, expect, it } from "vitest";
import { createDevnet, type Devnet } from "../createDevnet.js";

const devnets: Devnet[] = [];
afterEach(() => Promise.all(devnets.splice(0).map((devnet) => devnet.close())));

async function genesisAt(now: number): Promise<{ readonly hash: Hex; readonly stateRoot: Hex }> {
  const devnet = await createDevnet({ blockTimeMs: 0, now: () => now });
  devnets.push(devnet);
  return (await devnet.request({ method: "eth_getBlockByNumber", params: ["0x0", false] })) as {
    hash: Hex;
    stateRoot: Hex;
  };
}

it("genesis has the same state but another hash in each of two chains that begin in the same second", async () => {
  const [first, second] = [await genesisAt(1_700_000_000_000), await genesisAt(1_700_000_000_500)];
  expect(second.stateRoot).toBe(first.stateRoot);
  expect(second.hash).not.toBe(first.hash);
});
