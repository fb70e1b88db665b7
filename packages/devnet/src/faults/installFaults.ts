import type { Chain } from "../chain/chain.js";
import type { Miner } from "../chain/miner.js";
import { Governance } from "../governance/governance.js";
import type { Methods } from "../rpc/method.js";
import { faultMethods, setFaults } from "./faultMethods.js";
import type { FaultSettings } from "./faultSettings.js";
import { Faults } from "./faults.js";
import { readFaultSettings } from "./readFaultSettings.js";

export interface FaultDependencies {
  readonly chain: Chain;
  readonly miner: Miner;
  /** The folder that keeps the chain; `devnet_status` shows it. */
  readonly stateDir: string | undefined;
  /** The names of all methods of the node, asked for when settings are read. */
  readonly methodNames: () => readonly string[];
  /** Cuts every WebSocket. @returns how many there were. */
  readonly cutSockets: () => number;
}

export interface InstalledFaults {
  readonly faults: Faults;
  /** The JSON-RPC methods that control the faults. */
  readonly methods: Methods;
  /** Sets the faults that hold from the start. @throws InvalidFaultsError or InvalidChangeError. */
  apply(settings: FaultSettings | undefined): Promise<void>;
}

/** Gives a chain its faults and the methods that control them. No fault is set yet. */
export function installFaults(dependencies: FaultDependencies): InstalledFaults {
  const { chain, methodNames, cutSockets } = dependencies;
  const faults = new Faults(chain);
  const governance = new Governance(chain);
  chain.onBlock(() => {
    if (faults.drawCut()) cutSockets();
  });
  return {
    faults,
    methods: faultMethods({ ...dependencies, faults, governance }),
    async apply(settings = {}) {
      await setFaults(readFaultSettings(settings, methodNames()), faults, governance);
    },
  };
}
