import type { Behaviour } from "../behaviours/behaviour.js";

/** The world that troubles come to, as far as others stand in for what they strike. */
export interface WorldShape {
  readonly endpoints: number;
  readonly replicas: number;
  readonly keys: number;
  readonly reorgDepth: number;
}

/** Whose own part of the world a behaviour takes. Everybody else has the right to be served as if it were not there. */
export type Trouble =
  /** It costs nobody anything: an answer that a client must be able to live with. */
  | { readonly of: "nobody" }
  | { readonly of: "sender"; readonly user: number }
  | { readonly of: "endpoint"; readonly place: number }
  | { readonly of: "everybody" };

const NOBODY: Trouble = { of: "nobody" };
const EVERYBODY: Trouble = { of: "everybody" };
const LOOK_UPS: ReadonlySet<string | undefined> = new Set([
  "eth_getTransactionByHash",
  "eth_getTransactionReceipt",
]);
/**
 * Lanes notice within this time that the chain has lost final blocks, stop, and are opened by an operator, in ms: the chain grows
 * to its former height, and shows the loss for 15 s.
 */
export const RESTORED_MS = 36_000;
/** A node keeps at least so many states or blocks behind its head, or it counts as one that does not work. */
const LEAST_KEPT_BLOCKS = 6;

export function troubleOf({ subject, does }: Behaviour): Trouble {
  if (subject.sender !== undefined) return { of: "sender", user: subject.sender };
  const here: Trouble =
    subject.endpoint === undefined ? EVERYBODY : { of: "endpoint", place: subject.endpoint };
  switch (does.deed) {
    case "pruned":
      return does.blocks >= LEAST_KEPT_BLOCKS ? NOBODY : here;
    case "chain times":
      return NOBODY;
    case "reorg":
    case "halt":
    case "foreign use":
    case "revoke":
    case "drain lane":
    case "stop lane":
    case "pays itself":
    case "delegates":
    case "kill":
    case "freeze":
    case "leave":
    case "clock step":
    case "end sessions":
    case "read-only":
    case "database away":
    case "full disk":
    case "failover":
    case "slow database":
    case "database clock step":
      return EVERYBODY;
    case "hang":
      return here;
    case "error":
      return isTolerable(subject) || (subject.unknown === true && LOOK_UPS.has(subject.method))
        ? NOBODY
        : here;
    default:
      return isTolerable(subject) ? NOBODY : here;
  }
}

/** A client asks for less at once where a list is too long, and does without one old block. */
function isTolerable({ moreThan, block }: Behaviour["subject"]): boolean {
  return block !== undefined || (moreThan !== undefined && moreThan >= 1);
}

/** The moment from which a behaviour is no excuse any more, although it may last. */
export function endOfTrouble(
  { does, from, to }: Behaviour,
  { replicas, reorgDepth }: Pick<WorldShape, "replicas" | "reorgDepth">,
): number {
  switch (does.deed) {
    // Lanes stop with right, for as long as others may use the key.
    case "foreign use":
      return Number.POSITIVE_INFINITY;
    // Other lanes take the work, while one is open.
    case "revoke":
    case "drain lane":
      return from;
    case "reorg":
      return does.depth > reorgDepth ? from + RESTORED_MS : from;
    case "end sessions":
      return from;
    // A clock that is set right again is a step as well. One that is wrong for good must cost nothing.
    case "clock step":
    case "database clock step":
      return to ?? from;
    case "kill":
    case "freeze":
    case "leave":
      return replicas > 1 ? from : (to ?? Number.POSITIVE_INFINITY);
    default:
      return to ?? Number.POSITIVE_INFINITY;
  }
}
