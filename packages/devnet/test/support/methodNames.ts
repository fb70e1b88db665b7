import { Chain } from "../../src/chain/chain.js";
import { Miner } from "../../src/chain/miner.js";
import { installFaults } from "../../src/faults/installFaults.js";
import { createMethods } from "../../src/methods/createMethods.js";
import { resolveOptions } from "../../src/options.js";

/** The names of all methods of the node. */
export function methodNames(): string[] {
  const options = resolveOptions({ blockTimeMs: 0 });
  const chain = new Chain(options);
  const miner = new Miner(chain, { ...options, onError: () => {} });
  const { methods: faultMethods } = installFaults({
    chain,
    miner,
    stateDir: undefined,
    methodNames: () => [],
    cutSockets: () => 0,
  });
  return Object.keys(
    createMethods({ chain, miner, goBack: (step) => step(), clientVersion: "test", faultMethods }),
  );
}
