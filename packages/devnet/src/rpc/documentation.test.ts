import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Chain } from "../chain/chain.js";
import { startMiner } from "../chain/miner.js";
import { ethereumJsExecutor } from "../evm/executor.js";
import { startBadDays } from "../faults/startBadDays.js";
import { resolveOptions } from "../options.js";
import { createMethods } from "./methods.js";

const text = readFileSync(join(import.meta.dirname, "../../../../docs/devnet.md"), "utf8");
const NAMESPACES = ["anvil", "debug", "devnet", "eth", "evm", "hardhat", "net", "rpc", "txpool", "web3"];
const documented = [...text.matchAll(/`([a-z0-9]+_[A-Za-z0-9]+)`/g)]
  .map(([, name = ""]) => name)
  .filter((name) => NAMESPACES.includes(name.split("_")[0] ?? ""));

function methodNames(): string[] {
  const options = resolveOptions({ blockTimeMs: 0 });
  const chain = new Chain(options, ethereumJsExecutor);
  const miner = startMiner(chain, { ...options, onError: () => {} });
  const badDays = startBadDays(chain, miner, { stateDir: undefined, cutSockets: () => 0 });
  return Object.keys(badDays.join(createMethods({ chain, miner, clientVersion: "test" })));
}

describe("docs/devnet.md", () => {
  it("names every method there is, and none that there is not", () => {
    expect([...new Set(documented)].sort()).toEqual(methodNames().sort());
  });
});
