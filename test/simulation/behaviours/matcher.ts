import type { Hex } from "@gas-waiver/protocol";
import type { Wrapper } from "../chain/wrapper.js";
import type { Subject } from "./behaviour.js";

/** A call as behaviours see it. */
export interface ObservedCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Tells which user, nonce and wrapper a hash or an address stands for. */
export interface Directory {
  /** The number of the user with this address. */
  userAt(address: Hex): number | undefined;
  /** The wrapper that has this hash, or carries the InnerTx that has it. */
  wrapperOf(hash: Hex): Wrapper | undefined;
  /** The first wrapper that was ever sent around this InnerTx. */
  firstWrapperOf(innerHash: Hex): Hex | undefined;
  read(raw: unknown): Wrapper | undefined;
}

/** Whether a call is part of the subject. What depends on the answer is checked elsewhere. */
export function concerns(subject: Subject, call: ObservedCall, directory: Directory): boolean {
  const { method, block, sender } = subject;
  if (method !== undefined && method !== call.method) return false;
  if (block !== undefined && !(call.method === "eth_getBlockByNumber" && Number(call.params[0]) === block))
    return false;
  return sender === undefined || concernsSender(subject, sender, call, directory);
}

function concernsSender(subject: Subject, sender: number, call: ObservedCall, directory: Directory): boolean {
  const [first] = call.params;
  switch (call.method) {
    case "eth_getTransactionCount":
    case "eth_getBalance":
      return directory.userAt(String(first).toLowerCase() as Hex) === sender;
    case "eth_sendRawTransaction":
      return isWrapperOf(subject, sender, directory.read(first), undefined, directory);
    case "eth_getTransactionByHash":
    case "eth_getTransactionReceipt": {
      const hash = String(first).toLowerCase() as Hex;
      return isWrapperOf(subject, sender, directory.wrapperOf(hash), hash, directory);
    }
    default:
      return false;
  }
}

function isWrapperOf(
  { nonce, firstWrapper }: Subject,
  sender: number,
  wrapper: Wrapper | undefined,
  hash: Hex | undefined,
  directory: Directory,
): boolean {
  if (wrapper === undefined || directory.userAt(wrapper.sender) !== sender) return false;
  if (nonce !== undefined && BigInt(nonce) !== wrapper.senderNonce) return false;
  return firstWrapper !== true || isFirst(wrapper, hash, directory);
}

function isFirst({ hash, innerHash }: Wrapper, asked: Hex | undefined, directory: Directory): boolean {
  return asked === innerHash || directory.firstWrapperOf(innerHash) === hash;
}

/** Whether a wrapper is part of the subject, for what happens to it in pools and blocks. */
export function concernsWrapper(subject: Subject, wrapper: Wrapper, directory: Directory): boolean {
  const { sender } = subject;
  return sender === undefined || isWrapperOf(subject, sender, wrapper, wrapper.hash, directory);
}
