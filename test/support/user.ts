// A user of the chain with ethers alone. It imports no package of the repository, so that the tests show what any user
// can do.
import { HDNodeWallet, Interface, JsonRpcProvider, Mnemonic, type TransactionLike } from "ethers";

/** The constants of the devnet, from its documentation. */
export const CHAIN_ID = 2201;
export const TOKEN = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
/** The address to which every wrapper goes. */
export const MARKER = "0x000000000000000000000000000000000000f333";
/** The API key of `gas-waiver dev`. */
export const DEV_API_KEY = "gw_dev_local";

/** The API key of the services that tests start themselves. */
export const API_KEY = "gw_test_5f3a9c1e7b2d8046af19c3e57d80b264";
const MNEMONIC = Mnemonic.fromPhrase("test test test test test test test test test test test junk");

export const token = new Interface([
  "function transfer(address to, uint256 amount) returns (bool)",
  "function balanceOf(address owner) view returns (uint256)",
  "function approve(address spender, uint256 amount) returns (bool)",
  "function burn(uint256 amount)",
  "event Transfer(address indexed from, address indexed to, uint256 amount)",
]);

const accounts = new Map<number, HDNodeWallet>();

/** Account i of the devnet. Deriving it takes 10 ms, so each is derived once. */
export function account(i: number): HDNodeWallet {
  const wallet = accounts.get(i) ?? HDNodeWallet.fromMnemonic(MNEMONIC, `m/44'/60'/0'/0/${i}`);
  accounts.set(i, wallet);
  return wallet;
}

export const transferData = (to: string, amount: bigint) =>
  token.encodeFunctionData("transfer", [to, amount]);

/** A gasless transfer of test tokens. The overrides replace any of its fields. */
export function transferOf(
  to: string,
  amount: bigint,
  nonce: number,
  overrides: TransactionLike = {},
): TransactionLike {
  const data = transferData(to, amount);
  return { type: 0, chainId: CHAIN_ID, nonce, gasPrice: 0, gasLimit: 100_000, to: TOKEN, data, ...overrides };
}

/** A connection without batches and without a cache. */
export function connect(rpcUrl: string): JsonRpcProvider {
  return new JsonRpcProvider(rpcUrl, CHAIN_ID, { staticNetwork: true, batchMaxCount: 1, cacheTimeout: -1 });
}

export async function tokensOf(chain: JsonRpcProvider, owner: string): Promise<bigint> {
  const data = token.encodeFunctionData("balanceOf", [owner]);
  return BigInt(await chain.call({ to: TOKEN, data }));
}
