import { type Behaviour, closesLane } from "../behaviours/behaviour.js";
import type { PoolKind } from "../nodes/pool.js";

const SEND = "eth_sendRawTransaction";

/** Whether wrappers that no block includes may keep a nonce of each key that governance leaves registered, and whose lane is open, for good. */
export function isWithoutRemedy(
  behaviours: readonly Behaviour[],
  { keys, pool }: { readonly keys: number; readonly pool: PoolKind },
): boolean {
  const blockers = sendersOf(behaviours.filter(({ does }) => does.deed === "never include"));
  const closed = new Set(behaviours.flatMap(({ does }) => (closesLane(does) ? does.waiver : [])));
  return pool !== "replaces" && blockers > 0 && blockers >= keys - closed.size;
}

/** The number of senders whose wrappers pools lose or never get, or no block includes. */
export function blockersIn(behaviours: readonly Behaviour[]): number {
  return sendersOf(behaviours.filter(mayKeepNonce));
}

function mayKeepNonce({ subject: { sender, method }, does: { deed } }: Behaviour): boolean {
  const isSendThatHangs = deed === "hang" && sender !== undefined && (method ?? SEND) === SEND;
  return isSendThatHangs || ["never include", "forget", "evict"].includes(deed);
}

function sendersOf(behaviours: readonly Behaviour[]): number {
  return new Set(behaviours.map(({ subject }) => subject.sender)).size;
}
