import type { Chain } from "../chain/chain.js";
import type { GoBack } from "../chain/goBack.js";
import type { Miner } from "../chain/miner.js";
import { hasMethod } from "../presets/profiles.js";
import type { Methods } from "../rpc/method.js";
import { accountMethods } from "./accountMethods.js";
import { chainSettingMethods } from "./chainSettingMethods.js";
import { feeMethods } from "./feeMethods.js";
import { filterMethods } from "./filterMethods.js";
import { miningMethods } from "./miningMethods.js";
import { networkMethods } from "./networkMethods.js";
import { poolMethods } from "./poolMethods.js";
import { stateDumpMethods } from "./stateDumpMethods.js";
import { stateMethods } from "./stateMethods.js";
import { statePatchMethods } from "./statePatchMethods.js";
import { subscriptionMethods } from "./subscriptionMethods.js";
import { traceMethods } from "./traceMethods.js";
import { blockMethods, transactionMethods } from "./transactionMethods.js";

export interface MethodDependencies {
  readonly chain: Chain;
  readonly miner: Miner;
  /** Carries out each step that takes the chain back. */
  readonly goBack: GoBack;
  readonly clientVersion: string;
  /** The methods that control the faults. */
  readonly faultMethods: Methods;
}

/** Every method of the node, by name. */
export function createMethods({
  chain,
  miner,
  goBack,
  clientVersion,
  faultMethods,
}: MethodDependencies): Methods {
  const methods: Methods = {
    ...networkMethods(chain, clientVersion),
    ...blockMethods(chain),
    ...filterMethods(chain),
    ...subscriptionMethods(chain),
    ...stateMethods(chain),
    ...transactionMethods(chain),
    ...accountMethods(chain),
    ...feeMethods(chain),
    ...poolMethods(chain),
    ...traceMethods(chain),
    ...miningMethods(chain, miner, goBack),
    ...statePatchMethods(chain, goBack),
    ...chainSettingMethods(chain),
    ...stateDumpMethods(chain, goBack),
    ...faultMethods,
  };
  const { profile } = chain.options;
  if (profile !== "plain")
    return Object.fromEntries(Object.entries(methods).filter(([name]) => hasMethod(profile, name)));
  return { ...methods, rpc_modules: () => modulesOf(methods) };
}

/** The namespaces of the methods, each with the version that geth gives every module. */
function modulesOf(methods: Methods): Readonly<Record<string, string>> {
  const namespaces = Object.keys(methods).map((name) => name.slice(0, name.indexOf("_")));
  return Object.fromEntries([...new Set(namespaces)].sort().map((namespace) => [namespace, "1.0"]));
}
