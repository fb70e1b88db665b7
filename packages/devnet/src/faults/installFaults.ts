import {
  type AllowedTarget,
  type Hex,
  InvalidAllowedTargetError,
  parseAllowedTargets,
} from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { Miner } from "../chain/miner.js";
import { Governance } from "../governance/governance.js";
import { type Action, InvalidChangeError, type RegistryChange } from "../governance/registryChange.js";
import { invalidParams } from "../rpc/errors.js";
import type { Methods, Params } from "../rpc/method.js";
import { shortJson } from "../rpc/params.js";
import type { FaultSettings } from "./faultSettings.js";
import { Faults } from "./faults.js";
import { InvalidFaultsError, isAddress, readFaultSettings } from "./readFaultSettings.js";

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

/** Gives a chain its faults and the methods that control them. No fault is set yet. */
export function installFaults(dependencies: FaultDependencies) {
  const { chain, miner, methodNames, cutSockets } = dependencies;
  const faults = new Faults(chain);
  const governance = new Governance(chain);
  chain.onBlock(() => {
    if (faults.drawCut()) cutSockets();
  });
  const status = () => statusOf(dependencies, faults, governance);
  /** The methods that control the faults. Their numbers are plain JSON numbers. */
  const methods: Methods = {
    devnet_status: status,
    devnet_setFaults: async ([given]) => {
      await withInvalidParams(() =>
        setFaults(readFaultSettings(given ?? {}, methodNames()), faults, governance),
      );
      return status().faults;
    },
    devnet_clearFaults: async () => {
      await setFaults({}, faults, governance);
      return true;
    },
    devnet_stopMining: () => {
      miner.isPaused = true;
      return true;
    },
    devnet_resumeMining: () => {
      miner.isPaused = false;
      return true;
    },
    devnet_evictPool: ([count]) => evict(chain, faults, count),
    devnet_cutSockets: () => cutSockets(),
    devnet_revokeWaiver: (params) => change("revoke", governance, params),
    devnet_registerWaiver: (params) => change("register", governance, params),
  };
  return {
    faults,
    methods,
    /** Sets the faults that hold from the start. @throws InvalidFaultsError or InvalidChangeError. */
    async apply(settings: FaultSettings = {}) {
      await setFaults(readFaultSettings(settings, methodNames()), faults, governance);
    },
  };
}

/** Replaces all faults, and cancels the changes of waivers that are scheduled. */
async function setFaults(settings: FaultSettings, faults: Faults, governance: Governance): Promise<void> {
  const { revoke = [], register = [] } = settings;
  const tooLate = [...revoke, ...register].filter(({ block }) => block <= governance.head);
  if (tooLate.length > 0) {
    const blocks = tooLate.map(({ block }) => block).join(", ");
    throw new InvalidChangeError(
      `block ${blocks} cannot be changed any more: the latest is ${governance.head}`,
    );
  }
  faults.set(settings);
  governance.cancel();
  for (const { waiver, block } of revoke) await governance.plan("revoke", waiver, block);
  for (const { waiver, block } of register) await governance.plan("register", waiver, block);
}

function statusOf({ chain, miner, stateDir }: FaultDependencies, faults: Faults, governance: Governance) {
  const { number, hash } = chain.head;
  return {
    chainId: Number(chain.options.chainId),
    genesis: chain.ledger.byNumber(0)?.hash ?? null,
    head: { number, hash },
    mining: { stopped: miner.isPaused, blockTimeMs: miner.blockTimeMs, automine: miner.automine },
    pool: { kind: chain.poolKind, waiting: chain.pool.size },
    stateDir: stateDir ?? null,
    faults: {
      active: faults.active,
      settings: faults.settings,
      ...faults.counts,
      registry: governance.changes,
    },
  };
}

/** Turns invalid settings and changes into the JSON-RPC error for invalid parameters. */
async function withInvalidParams<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof InvalidFaultsError || error instanceof InvalidChangeError) {
      throw invalidParams(error.message);
    }
    throw error;
  }
}

/** Removes some waiting transactions, drawn from the seed, or all. @returns their hashes. */
function evict({ pool }: Chain, faults: Faults, count: unknown): Hex[] {
  const waiting = pool.entries();
  const all = count === undefined || count === null || count === "all";
  if (!all && !(Number.isInteger(count) && Number(count) >= 0)) {
    throw invalidParams(`the count is ${shortJson(count)}, not a whole number of at least 0 or "all"`);
  }
  const evicted = all ? waiting : faults.drawSome(waiting, Number(count));
  for (const entry of evicted) pool.remove(entry);
  return evicted.map(({ tx }) => tx.hash);
}

async function change(action: Action, governance: Governance, params: Params): Promise<RegistryChange> {
  const { waiver, block, targets } = readChange(action, params[0]);
  return withInvalidParams(() => governance.plan(action, waiver, block, targets));
}

function readChange(action: Action, given: unknown) {
  const expectedForm = `{"waiver": "0x…", "block"?: number${action === "register" ? ', "targets"?: [{"address", "selectors"?}]' : ""}}`;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalidParams(`the change is ${shortJson(given)}, not ${expectedForm}`);
  }
  const { waiver, block, targets, ...rest } = given as Record<string, unknown>;
  const problems = Object.keys(rest).map((name) => `${name} is not part of ${expectedForm}`);
  if (!isAddress(waiver)) problems.push(`waiver is ${shortJson(waiver)}, not an address`);
  if (block !== undefined && !Number.isSafeInteger(block)) {
    problems.push(`block is ${shortJson(block)}, not a whole number`);
  }
  let allowedTargets: AllowedTarget[] | undefined;
  if (targets !== undefined && action === "revoke") problems.push("targets are for a registration");
  else if (targets !== undefined) {
    try {
      allowedTargets = parseAllowedTargets(targets);
    } catch (error) {
      if (!(error instanceof InvalidAllowedTargetError)) throw error;
      problems.push(`targets are wrong: ${error.message}`);
    }
  }
  if (problems.length > 0 || !isAddress(waiver)) throw invalidParams(problems.join("; "));
  return { waiver, block: block === undefined ? undefined : Number(block), targets: allowedTargets };
}
