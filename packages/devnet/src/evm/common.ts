import { type Common, createCustomCommon, Hardfork, Mainnet } from "@ethereumjs/common";
import { bytesToBigInt, crypto } from "@gas-waiver/protocol";
import { DEVNET_CHAIN_ID } from "../presets/constants.js";

/** The Commons of the chains that run in this process, by chain id. */
const commons = new Map<bigint, Common>();

/** The rules of a chain for EthereumJS. It is kept, so that the transactions of the chain can be decoded. */
export function commonOf(chainId: bigint): Common {
  const common = commons.get(chainId) ?? createPinnedCommon(chainId);
  commons.set(chainId, common);
  return common;
}

/** The rules of the chain that signed bytes are for; those of the devnet's usual chain if no such chain runs here. */
export function commonFor(chainId: bigint | undefined): Common {
  return (chainId === undefined ? undefined : commons.get(chainId)) ?? common;
}

/**
 * The rules of the devnet's usual chain for EthereumJS: Prague from genesis, with the protocol package's cryptography.
 *
 * `copy` returns the same object. Every transaction and header copies its Common and applies its parameters
 * again, which takes 400 µs of the 440 µs of decoding. For the same reason each set of parameters is applied
 * once. This is safe because the hardfork never changes.
 */
export const common: Common = commonOf(DEVNET_CHAIN_ID);

function createPinnedCommon(chainId: bigint): Common {
  const pinned = createCustomCommon({ chainId: Number(chainId), name: "gas-waiver-devnet" }, Mainnet, {
    hardfork: Hardfork.Prague,
    customCrypto: { keccak256: (data) => crypto.keccak256(data), ecrecover },
  });
  pinned.copy = () => pinned;
  const applied = new WeakSet<object>();
  const apply = pinned.updateParams.bind(pinned);
  pinned.updateParams = (params) => {
    if (applied.has(params)) return;
    applied.add(params);
    apply(params);
  };
  // EthereumJS asks this hundreds of times per transaction, and searches a list each time.
  const isActivatedEip = pinned.isActivatedEIP.bind(pinned);
  const answers: boolean[] = [];
  pinned.isActivatedEIP = (eip) => (answers[eip] ??= isActivatedEip(eip));
  // Each EVM subscribes to changes of the hardfork and never unsubscribes, so a shared Common would keep all of them.
  pinned.events.on = () => pinned.events;
  return pinned;
}

/** Serves the ecrecover precompile and legacy transactions, where v has an offset, and typed ones, where v is the parity. */
function ecrecover(hash: Uint8Array, v: bigint, r: Uint8Array, s: Uint8Array, chainId?: bigint): Uint8Array {
  const yParity = v <= 1n ? v : v - (chainId === undefined ? 27n : chainId * 2n + 35n);
  if (yParity !== 0n && yParity !== 1n) throw new Error(`v is ${v}`);
  const compact = new Uint8Array(64);
  putRight(r, compact.subarray(0, 32));
  putRight(s, compact.subarray(32));
  const publicKey = crypto.recover(hash, { compact, yParity: yParity === 0n ? 0 : 1 });
  if (publicKey === undefined) throw new Error("no key can have made this signature");
  return publicKey;
}

function putRight(bytes: Uint8Array, target: Uint8Array): void {
  if (bytes.length > target.length) throw new Error(`${bytesToBigInt(bytes)} is too large`);
  target.set(bytes, target.length - bytes.length);
}
