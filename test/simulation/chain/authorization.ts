import { bytesToHex, concatBytes, crypto, encodeRlp, type Hex } from "@gas-waiver/protocol";
import { TOKEN, userKey } from "../../../packages/server/test/support/user.js";
import { addressOf } from "../users/users.js";

/** An authorization as nodes show it, and the account that signed it (EIP-7702). */
export interface SignedAuthorization {
  readonly authority: Hex;
  readonly nonce: bigint;
  readonly shown: Readonly<Record<"chainId" | "address" | "nonce" | "yParity" | "r" | "s", Hex>>;
}

/** The first byte of the text that is signed. */
const MAGIC = Uint8Array.of(5);
const NONE = new Uint8Array();

/** A user's authorization for a nonce, good on every chain. */
export function authorizationOf(user: number, nonce: number): SignedAuthorization {
  const text = encodeRlp([NONE, TOKEN, nonce === 0 ? NONE : Uint8Array.of(nonce)]);
  const { compact, yParity } = crypto.sign(crypto.keccak256(concatBytes(MAGIC, text)), userKey(user));
  const numbers = { nonce: `0x${nonce.toString(16)}`, yParity: `0x${yParity}` } as const;
  const [r, s] = [bytesToHex(compact.subarray(0, 32)), bytesToHex(compact.subarray(32))];
  const shown = { chainId: "0x0", address: bytesToHex(TOKEN), ...numbers, r, s } as const;
  return { authority: addressOf(user), nonce: BigInt(nonce), shown };
}
