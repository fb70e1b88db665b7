import type { SeededRandom } from "../../support/seededRandom.js";
import type { Reaction } from "../nodes/reaction.js";
import type { TransportDeed } from "./behaviour.js";

/** One HTTP request at an endpoint. */
export interface Request {
  readonly calls: readonly {
    readonly id: unknown;
    readonly method: string;
    readonly params: readonly unknown[];
  }[];
  readonly isList: boolean;
  /** It came over a connection that had carried an earlier request. */
  readonly isKept: boolean;
}

export function readRequest(body: string, isKept: boolean): Request {
  const parsed = JSON.parse(body) as Request["calls"] | Request["calls"][number];
  const isList = Array.isArray(parsed);
  return { calls: isList ? parsed : [parsed as Request["calls"][number]], isList, isKept };
}

/** The reaction of a deed that needs no answer of the node; undefined if it leaves the request alone. */
export function reactionOf(
  does: TransportDeed,
  when: "before" | "after",
  { isKept }: Request,
): Reaction | undefined {
  switch (does.deed) {
    case "no connection":
      // A connection that is there already stays; its next request finds it closed.
      return when === "before"
        ? isKept
          ? { kind: "reset" }
          : { kind: "no connection", code: does.code }
        : undefined;
    case "reset":
      return does.when === when && (isKept || !does.keptOnly) ? { kind: "reset" } : undefined;
    case "hang":
      return does.when === when ? { kind: "hang" } : undefined;
    case "status":
      return does.when === when
        ? { ...answer(does.status, does.body), retryAfter: does.retryAfter }
        : undefined;
    case "one error":
      return does.when === when
        ? answer(does.status, JSON.stringify({ jsonrpc: "2.0", id: does.id, error: does.error }))
        : undefined;
    default:
      return undefined;
  }
}

/** An answer to one call, with its id. */
export type IdentifiedReply = { readonly id: unknown } & Readonly<Record<string, unknown>>;

/** Changes the list of answers as a deed wants it. */
export function rearrange(
  replies: readonly IdentifiedReply[],
  does: TransportDeed,
  random: SeededRandom,
): readonly IdentifiedReply[] {
  switch (does.deed) {
    case "another order":
      return random.shuffled(replies);
    case "foreign ids":
      return replies.map((reply) => ({ ...reply, id: Number(reply.id) + does.by }));
    case "missing answers":
      return replies.filter(() => !random.chance(does.share));
    default:
      return replies;
  }
}

export function answer(status: number, body: string): Extract<Reaction, { kind: "answer" }> {
  return { kind: "answer", status, body, isCut: false, delayMs: 0 };
}
