import type { Hex } from "@gas-waiver/protocol";

/** The mnemonic is public, so its keys are for local development only. */
export const DEVNET_MNEMONIC = "test test test test test test test test test test test junk";

/** The role of an account in genesis. */
export type AccountRole = "user" | "waiver" | "unregisteredWaiver" | "funded" | "validator";

export interface DevnetAccount {
  /** The i of the derivation path m/44'/60'/0'/0/i. */
  readonly index: number;
  /** The address with an EIP-55 checksum. */
  readonly address: Hex;
  /** 32 bytes. */
  readonly privateKey: Hex;
  readonly role: AccountRole;
}

// Index, address and private key. A table spares a key derivation library at run time. A test derives the 18 accounts from the
// mnemonic again.
const TABLE = `
   0 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
   1 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d
   2 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC 0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a
   3 0x90F79bf6EB2c4f870365E785982E1f101E93b906 0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6
   4 0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65 0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a
   5 0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc 0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba
   6 0x976EA74026E726554dB657fA54763abd0C3a0aa9 0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e
   7 0x14dC79964da2C08b23698B3D3cc7Ca32193d9955 0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356
   8 0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f 0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97
   9 0xa0Ee7A142d267C1f36714E4a8F75612F20a79720 0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6
  10 0xBcd4042DE499D14e55001CcbB24a551F3b954096 0xf214f2b2cd398c806f84e317254e0f0b801d0643303237d97a22a48e01628897
  11 0x71bE63f3384f5fb98995898A86B02Fb2426c5788 0x701b615bbdfb9de65240bc28bd21bbc0d996645a3dd57e7b12bc2bdf6f192c82
  12 0xFABB0ac9d68B0B445fB7357272Ff202C5651694a 0xa267530f49f8280200edf313ee7af6b827f2a8bce2897751d06a843f644967b1
  13 0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec 0x47c99abed3324a2707c28affff1267e45918ec8c3f20b8aa892e8b065d2942dd
  20 0x09DB0a93B389bEF724429898f539AEB7ac2Dd55f 0xeaa861a9a01391ed3d587d8a5a84ca56ee277629a8b02c22093a419bf240e65d
  21 0x02484cb50AAC86Eae85610D6f4Bf026f30f6627D 0xc511b2aa70776d4ff1d376e8537903dae36896132c90b91d52c1dfbae267cd8b
  22 0x08135Da0A343E492FA2d4282F2AE34c6c5CC1BbE 0x224b7eb7449992aac96d631d9677f7bf5888245eef6d6eeda31e62d2f29a83e4
  23 0x5E661B79FE2D3F6cE70F5AAC07d8Cd9abb2743F1 0x4624e0802698b9769f5bdb260a3777fbd4941ad2901f5966b854f953497eec1b
`;

/** Every account of genesis, by ascending index. */
export const devnetAccounts: readonly DevnetAccount[] = TABLE.trim()
  .split("\n")
  .map((row) => {
    const [index, address, privateKey] = row.trim().split(" ") as [string, Hex, Hex];
    return { index: Number(index), address, privateKey, role: roleOf(Number(index)) };
  });

/**
 * The accounts of one role, by ascending index: at least one.
 * @example
 * ```ts
 * const [waiver] = accountsOf("waiver");
 * ```
 */
export function accountsOf(role: AccountRole): readonly [DevnetAccount, ...DevnetAccount[]] {
  return devnetAccounts.filter((account) => account.role === role) as [DevnetAccount];
}

/**
 * The account with an index of the derivation path.
 * @throws {@link UnknownAccountError} for an index without an account in genesis.
 * @example
 * ```ts
 * const { address, privateKey } = devnetAccount(0);
 * ```
 */
export function devnetAccount(index: number): DevnetAccount {
  const account = devnetAccounts.find((candidate) => candidate.index === index);
  if (account === undefined) throw new UnknownAccountError(index);
  return account;
}

/** Thrown for an index without an account in genesis. */
export class UnknownAccountError extends Error {
  override readonly name = "UnknownAccountError";
  constructor(readonly index: number) {
    super(
      `the devnet has no account ${index}; it has ${devnetAccounts.map(({ index: one }) => one).join(", ")}`,
    );
  }
}

function roleOf(index: number): AccountRole {
  if (index < 10) return "user";
  if (index < 12) return "waiver";
  if (index === 12) return "unregisteredWaiver";
  return index === 13 ? "funded" : "validator";
}
