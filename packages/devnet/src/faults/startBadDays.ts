import type { Chain } from "../chain/chain.js";
import type { Miner } from "../chain/miner.js";
import type { Methods } from "../rpc/method.js";
import type { FaultSettings } from "./FaultSettings.js";
import { Faults } from "./Faults.js";
import { faultMethods, setFaults } from "./faultMethods.js";
import { Governance } from "./Governance.js";
import { readFaultSettings } from "./readFaultSettings.js";

export interface BadDays {
  readonly faults: Faults;
  /** The node's methods, and those that control the faults. */
  join(methods: Methods): Methods;
  /**
   * Sets the faults of the start; after {@link join}, whose methods they may name.
   * @throws InvalidFaultsError or InvalidChangeError.
   */
  begin(settings: FaultSettings | undefined): Promise<void>;
}

/** All that can go wrong on command, for one chain. */
export function startBadDays(
  chain: Chain,
  miner: Miner,
  surroundings: { readonly stateDir: string | undefined; readonly cutSockets: () => number },
): BadDays {
  const faults = new Faults(chain);
  const governance = new Governance(chain);
  chain.onBlock(() => {
    if (faults.drawCut()) surroundings.cutSockets();
  });
  let names: readonly string[] = [];
  return {
    faults,
    join(methods) {
      names = Object.keys(methods);
      const controls = { chain, miner, faults, governance, methodNames: () => names, ...surroundings };
      return { ...methods, ...faultMethods(controls) };
    },
    async begin(settings = {}) {
      await setFaults(readFaultSettings(settings, names), faults, governance);
    },
  };
}
