import type { FaultSettings } from "./faults/faultSettings.js";
import { POOL_KINDS, type PoolKind } from "./pool/nonceRules.js";
import { DEFAULT_CHAIN_VERIFICATION_GAS, DEVNET_CHAIN_ID } from "./presets/constants.js";
import { PROFILE_OPTIONS, PROFILES, type Profile } from "./presets/profiles.js";

/** The options of a devnet. Each has a default. */
export interface DevnetOptions {
  /** The chain that the devnet is like: `plain`, or `stable` for the public one (D39). Default `plain`. */
  readonly profile?: Profile;
  /** The chain id. Default 2201. */
  readonly chainId?: bigint;
  /** Milliseconds from block to block. With 0 a block follows each request that brought a transaction. Default 500, or the profile's. */
  readonly blockTimeMs?: number;
  /** With false and `blockTimeMs` 0, only `mine()` and methods such as `evm_mine` make blocks. Default true. */
  readonly automine?: boolean;
  /** The minimum gas price of ordinary transactions, in wei (D11). Default 1 gwei. */
  readonly minGasPrice?: bigint;
  /** The base fee in wei, which everybody pays who is not waived. With one, tips are ignored. Default 0, or the profile's. */
  readonly baseFee?: bigint;
  /** The gas for unwrapping and verification that a wrapper's gas limit must cover (D7). Default 10,000. */
  readonly verificationGas?: bigint;
  /** The gas limit of a block. Default 1,000,000,000. */
  readonly blockGasLimit?: bigint;
  /** The number of past states that stay readable. Default 1,024. */
  readonly historyBlocks?: number;
  /** Transactions behind a nonce gap wait (`queued`, as in geth) or are refused (`strict`). Default `queued`. */
  readonly pool?: PoolKind;
  /** The most waiting transactions. Default 50,000. */
  readonly poolLimit?: number;
  /** The most waiting transactions of one signer. Default 20,000. */
  readonly accountPoolLimit?: number;
  /** The most transactions of one signer that wait behind a gap in its nonces. Default 1,024. */
  readonly accountQueueLimit?: number;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /** A folder that keeps the chain over restarts. It is created if it is missing. Default: memory only. */
  readonly stateDir?: string;
  /** Names that clients may call the devnet by, besides `localhost` and numeric addresses. Default: none. */
  readonly allowedHosts?: readonly string[];
  /** Origins whose pages may call the devnet, besides those of this machine; `*` for every one. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** The faults from the start, as `devnet_setFaults` takes them. Default: none. */
  readonly faults?: FaultSettings;
}

/** The options with their defaults filled in. */
export type ResolvedDevnetOptions = Required<Omit<DevnetOptions, OptionsWithoutDefault>> &
  Pick<DevnetOptions, OptionsWithoutDefault>;

const WITHOUT_DEFAULT = ["stateDir", "faults"] as const;
type OptionsWithoutDefault = (typeof WITHOUT_DEFAULT)[number];

const DEFAULTS: ResolvedDevnetOptions = {
  profile: "plain",
  chainId: DEVNET_CHAIN_ID,
  blockTimeMs: 500,
  automine: true,
  minGasPrice: 1_000_000_000n,
  baseFee: 0n,
  verificationGas: DEFAULT_CHAIN_VERIFICATION_GAS,
  blockGasLimit: 1_000_000_000n,
  historyBlocks: 1_024,
  pool: "queued",
  poolLimit: 50_000,
  accountPoolLimit: 20_000,
  accountQueueLimit: 1_024,
  now: Date.now,
  allowedHosts: [],
  allowedOrigins: [],
};

/** Thrown for invalid options. It lists every problem. */
export class InvalidDevnetOptionsError extends Error {
  override readonly name = "InvalidDevnetOptionsError";

  constructor(readonly problems: readonly string[]) {
    super(`invalid devnet options: ${problems.join("; ")}`);
  }
}

/** Fills in the defaults. @throws {@link InvalidDevnetOptionsError} with every problem listed. */
export function resolveOptions(options: DevnetOptions): ResolvedDevnetOptions {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const profile = PROFILES.find((name) => name === given.profile) ?? DEFAULTS.profile;
  const resolved = { ...DEFAULTS, ...PROFILE_OPTIONS[profile], ...given } as Record<
    keyof DevnetOptions,
    unknown
  >;
  const problems = Object.keys(given)
    .filter((name) => ![...Object.keys(DEFAULTS), ...WITHOUT_DEFAULT].includes(name))
    .map((name) => `${name} is not an option`);
  const wrong = (name: keyof DevnetOptions, wanted: string) =>
    problems.push(`${name} is ${String(resolved[name])}, not ${wanted}`);
  if (resolved.profile !== profile) wrong("profile", PROFILES.join(" or "));
  if (!isBigint(resolved.chainId, 1n) || Number(resolved.chainId) > Number.MAX_SAFE_INTEGER)
    wrong("chainId", "a bigint from 1 to 2^53-1");
  if (!isInteger(resolved.blockTimeMs, 0, 2 ** 31 - 1)) wrong("blockTimeMs", "an integer from 0 to 2^31-1");
  if (typeof resolved.automine !== "boolean") wrong("automine", "true or false");
  if (!isBigint(resolved.minGasPrice, 0n)) wrong("minGasPrice", "a bigint of at least 0 wei");
  if (!isBigint(resolved.baseFee, 0n)) wrong("baseFee", "a bigint of at least 0 wei");
  if (!isBigint(resolved.verificationGas, 0n)) wrong("verificationGas", "a bigint of at least 0 gas");
  if (!isBigint(resolved.blockGasLimit, 21_000n)) wrong("blockGasLimit", "a bigint of at least 21000");
  if (!isInteger(resolved.historyBlocks, 0, 2 ** 31)) wrong("historyBlocks", "an integer of at least 0");
  if (!isInteger(resolved.poolLimit, 1, 2 ** 31)) wrong("poolLimit", "an integer of at least 1");
  if (!isInteger(resolved.accountPoolLimit, 1, 2 ** 31))
    wrong("accountPoolLimit", "an integer of at least 1");
  if (!isInteger(resolved.accountQueueLimit, 0, 2 ** 31))
    wrong("accountQueueLimit", "an integer of at least 0");
  if (!POOL_KINDS.some((kind) => kind === resolved.pool)) wrong("pool", POOL_KINDS.join(" or "));
  for (const name of ["allowedHosts", "allowedOrigins"] as const) {
    const list = resolved[name];
    if (!Array.isArray(list) || !list.every((entry) => typeof entry === "string" && entry !== ""))
      wrong(name, "a list of texts");
  }
  if (typeof resolved.now !== "function") wrong("now", "a function");
  if (
    resolved.stateDir !== undefined &&
    (typeof resolved.stateDir !== "string" || resolved.stateDir === "")
  ) {
    wrong("stateDir", "the path of a folder");
  }
  if (problems.length > 0) throw new InvalidDevnetOptionsError(problems);
  return resolved as unknown as ResolvedDevnetOptions;
}

function isInteger(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
}

function isBigint(value: unknown, least: bigint): boolean {
  return typeof value === "bigint" && value >= least && value < 2n ** 64n;
}
