import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import type { JsonRpcProvider } from "ethers";
import { afterAll, beforeAll } from "vitest";
import { NodeGate } from "./nodeGate.js";
import { connect } from "./user.js";

/** A chain for the tests of a file, a gate in front of it for the service, and a client of its own. */
export interface GatedChain {
  readonly devnet: Devnet;
  readonly gate: NodeGate;
  readonly chain: JsonRpcProvider;
}

/** Starts them before the file's tests and ends them after; what it returns is filled in by then. */
export function gatedChain(): () => GatedChain {
  let started: Partial<GatedChain> = {};
  beforeAll(async () => {
    // A block whenever there is something to run: no test waits for a clock.
    const devnet = await createDevnet({ blockTimeMs: 0 });
    started = { devnet };
    const { url } = await devnet.listen({ port: 0 });
    started = { devnet, gate: await NodeGate.before(url), chain: connect(url) };
  });
  afterAll(async () => {
    started.chain?.destroy();
    await started.gate?.close();
    await started.devnet?.close();
  });
  return () => {
    const { devnet, gate, chain } = started;
    if (!devnet || !gate || !chain) throw new Error("the chain has not been started");
    return { devnet, gate, chain };
  };
}
