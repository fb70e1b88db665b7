import { Chain } from "../chain/chain.js";
import { startMiner } from "../chain/miner.js";
import { ethereumJsExecutor } from "../evm/executor.js";
import { startBadDays } from "../faults/startBadDays.js";
import { resolveOptions } from "../options.js";
import { createMethods } from "../rpc/methods.js";

/** The names of all that the node answers. */
export function methodNames(): string[] {
  const options = resolveOptions({ blockTimeMs: 0 });
  const chain = new Chain(options, ethereumJsExecutor);
  const miner = startMiner(chain, { ...options, onError: () => {} });
  const badDays = startBadDays(chain, miner, { stateDir: undefined, cutSockets: () => 0 });
  return Object.keys(badDays.join(createMethods({ chain, miner, clientVersion: "test" })));
}
