// The chain's state that the vectors assume: accounts, contracts and the registry's policies.
import { TestToken } from "@gas-waiver/devnet";
import { AbiCoder, getCreateAddress, keccak256, toBeHex } from "ethers";
import { addressOf } from "./transaction.js";

export interface AllowedTargetJson {
  readonly address: string;
  readonly selectors?: readonly string[];
}

/** The policies of all registered waivers, by address. */
export type Registry = Readonly<Record<string, readonly AllowedTargetJson[]>>;

/** An account. Integers are decimal text. */
export interface Account {
  readonly nonce: string;
  readonly balance: string;
  /** The code in 0x hex. Default: none. */
  readonly code?: string;
}
export type Accounts = Readonly<Record<string, Account>>;

export interface Contract {
  readonly name: string;
  readonly code: string;
  readonly storage: Readonly<Record<string, string>>;
}

export const USER = 0;
export const OTHER_USER = 1;
export const WAIVER = 10;
export const OTHER_WAIVER = 11;
export const UNREGISTERED_ACCOUNT = 12;
export const DEPLOYER = 13;
export const VALIDATOR = 20;

export const TOKEN = "0x78cf24370174180738c5b8e352b6d14c83a6c9a9";
export const MARKER = "0x000000000000000000000000000000000000f333";
export const REGISTRY = "0x000000000000000000000000000000000000f334";

export const TRANSFER = "0xa9059cbb";
export const TRANSFER_FROM = "0x23b872dd";
export const APPROVE = "0x095ea7b3";

/**
 * Small contracts with one effect each: name, runtime bytecode, and the gas of the execution, counted by hand; 0
 * where it uses up the gas limit.
 */
const SMALL_CONTRACTS = [
  // Logs tx.origin, msg.sender, msg.value and the gas price. LOG0 of 128 bytes: 375 + 8 · 128; memory: 12.
  ["witness", "0x325f523360205234604052" + "3a606052" + "60805fa000", 1_447n],
  ["reverts", "0x5f5ffd", 4n],
  ["invalid instruction", "0xfe", 0n],
  ["endless loop", "0x5b5f56", 0n],
  // Writes 1 to slot 0: SSTORE 2,100 for the cold slot and 20,000 for a value where there was none.
  ["writes storage", "0x60015f5500", 22_105n],
  // Reads slot 0: SLOAD 2,100, or 100 where the access list names it.
  ["reads storage", "0x5f545000", 2_104n],
  // Creates an empty contract: CREATE 32,000.
  ["creates a contract", "0x5f5f5ff05000", 32_008n],
  // SELFDESTRUCT 5,000 in favour of the caller.
  ["self-destructs", "0x33ff", 5_002n],
] as const;
export type SmallContract = (typeof SMALL_CONTRACTS)[number][0];

/** The small contracts at the addresses where account 13 creates them in this order, from nonce 0. */
export const smallContracts = Object.fromEntries(
  SMALL_CONTRACTS.map(([name, , gas], nonce) => [
    name,
    { address: getCreateAddress({ from: addressOf(DEPLOYER), nonce }).toLowerCase(), gas },
  ]),
) as Readonly<Record<SmallContract, { readonly address: string; readonly gas: bigint }>>;

const slotOf = (owner: string, position: number) =>
  keccak256(AbiCoder.defaultAbiCoder().encode(["address", "uint256"], [owner, position]));

/** The test token of genesis: a million tokens for each of the ten users. */
function token(): Contract {
  const million = 1_000_000n * 10n ** 18n;
  const holders = Array.from({ length: 10 }, (_, i) => slotOf(addressOf(i), TestToken.slots.balanceOf));
  const storage = Object.fromEntries(holders.map((slot) => [slot, toBeHex(million)]));
  storage[toBeHex(TestToken.slots.totalSupply, 32)] = toBeHex(10n * million);
  return { name: "test token", code: TestToken.runtimeBytecode, storage };
}

/** The contracts that every case assumes on the chain, by address. */
export const contracts: Readonly<Record<string, Contract>> = {
  [TOKEN]: token(),
  ...Object.fromEntries(
    SMALL_CONTRACTS.map(([name, code]) => [
      smallContracts[name].address,
      { name, code, storage: {} } satisfies Contract,
    ]),
  ),
};

const tokenPolicy = [{ address: TOKEN, selectors: [TRANSFER, TRANSFER_FROM, APPROVE] }];

/** The registry of the devnet's genesis, with `policy` for `WAIVER`. */
export function registry(
  policy: readonly AllowedTargetJson[] = tokenPolicy,
  otherWaivers: Registry = {},
): Registry {
  return { [addressOf(WAIVER)]: policy, [addressOf(OTHER_WAIVER)]: tokenPolicy, ...otherWaivers };
}

/** The next nonces of user and waiver. They differ, so that a test notices if one is used for the other. */
export const USER_NONCE = 2n;
export const WAIVER_NONCE = 3n;

/** Accounts by index. All others have nonce 0 and no balance. */
export function accounts(
  balances: Readonly<Record<number, bigint>> = {},
  nonces: Readonly<Record<number, bigint>> = { [USER]: USER_NONCE, [WAIVER]: WAIVER_NONCE },
): Accounts {
  const indexes = [...new Set([...Object.keys(balances), ...Object.keys(nonces)].map(Number))];
  return Object.fromEntries(
    indexes.map((i) => [
      addressOf(i),
      { nonce: String(nonces[i] ?? 0n), balance: String(balances[i] ?? 0n) },
    ]),
  );
}

/** The accounts, with code for the user's. */
export function withCode(plain: Accounts, code: string | undefined): Accounts {
  const user = plain[addressOf(USER)];
  return code === undefined || user === undefined
    ? plain
    : { ...plain, [addressOf(USER)]: { ...user, code } };
}
