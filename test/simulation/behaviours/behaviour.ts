import type { CallError } from "../chain/reads.js";

/** A value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * The part of the world that a behaviour strikes. Every member narrows it; without any member, it is everything. Where a list
 * of calls has one that fits, a deed of the transport strikes the whole list.
 */
export interface Subject {
  /** The place of an endpoint. */
  readonly endpoint?: number;
  readonly method?: string;
  /** The number of a user: the account, its InnerTxs, and the wrappers around them. */
  readonly sender?: number;
  /** Only the InnerTx of that user with this nonce. */
  readonly nonce?: number;
  /** Only the first wrapper of that InnerTx. */
  readonly firstWrapper?: boolean;
  /** Only a block at this height. */
  readonly block?: number;
  /** Only lists of more calls than these. */
  readonly moreThan?: number;
  /** Only calls that would be answered with null. */
  readonly unknown?: boolean;
}

/** Before or after the upstream has done the work. */
export type When = "before" | "after";

/** The fate of a request or its answer on the way. */
export type TransportDeed =
  | { readonly deed: "no connection"; readonly code: string }
  | { readonly deed: "reset"; readonly when: When; readonly keptOnly: boolean }
  | { readonly deed: "hang"; readonly when: When }
  | {
      readonly deed: "status";
      readonly when: When;
      readonly status: number;
      readonly body: string;
      /** The silence that the endpoint asks for, in seconds. */
      readonly retryAfter?: number;
    }
  | {
      readonly deed: "one error";
      readonly when: When;
      readonly status: number;
      readonly error: CallError;
      readonly id: Json;
    }
  | { readonly deed: "cut"; readonly share: number }
  | { readonly deed: "twice" }
  /** A load balancer gives the request to the node of another endpoint, which may know other blocks and other wrappers. */
  | { readonly deed: "another node" }
  | { readonly deed: "another order" }
  | { readonly deed: "foreign ids"; readonly by: number }
  | { readonly deed: "missing answers"; readonly share: number }
  | { readonly deed: "slow"; readonly ms: number };

/** A node that answers a call wrongly. */
export type CallDeed =
  | { readonly deed: "result"; readonly when: When; readonly value: Json }
  | { readonly deed: "error"; readonly when: When; readonly error: CallError }
  | { readonly deed: "member"; readonly name: string; readonly value?: Json }
  | { readonly deed: "behind"; readonly blocks: number }
  | { readonly deed: "another fork"; readonly blocks: number }
  | { readonly deed: "pruned"; readonly blocks: number; readonly what: "states" | "blocks" }
  | { readonly deed: "block times"; readonly seconds: number };

/** Pools that treat wrappers, or a chain that treats its blocks, as the service would not like. */
export type ChainDeed =
  | { readonly deed: "forget" }
  | { readonly deed: "never include" }
  | { readonly deed: "evict"; readonly everyMs: number }
  | { readonly deed: "reorg"; readonly depth: number; readonly keepsPools: boolean }
  | { readonly deed: "halt" }
  | { readonly deed: "chain times"; readonly seconds: number }
  | { readonly deed: "pays itself"; readonly afterMs: number }
  | { readonly deed: "delegates"; readonly afterMs: number }
  | { readonly deed: "foreign use"; readonly waiver: number }
  | LaneDeed;

/** A lane that is closed, and opened again at the end: by governance, where the service follows the registry, or by an operator. */
export interface LaneDeed {
  readonly deed: "revoke" | "drain lane" | "stop lane";
  readonly waiver: number;
}

/** The misfortune of a replica, or of the database. */
export type HostDeed =
  | { readonly deed: "kill"; readonly replica: number }
  | { readonly deed: "freeze"; readonly replica: number }
  /** It ends as SIGTERM lets it, and is started again at the end. */
  | { readonly deed: "leave"; readonly replica: number }
  | { readonly deed: "clock step"; readonly replica: number; readonly ms: number }
  | { readonly deed: "end sessions" }
  | { readonly deed: "read-only" }
  | { readonly deed: "database away" }
  | { readonly deed: "full disk" }
  /** A standby receives nothing any more, and takes over at the end. */
  | { readonly deed: "failover" }
  | { readonly deed: "slow database"; readonly ms: number }
  | { readonly deed: "database clock step"; readonly ms: number };

export type Deed = TransportDeed | CallDeed | ChainDeed | HostDeed;

/** One way in which the world misbehaves. Data only: a world is replayed from it. */
export interface Behaviour {
  /** Names the stream of its draws, so that the others' draws stay when it is taken out. */
  readonly name: string;
  /** In ms since the world began. */
  readonly from: number;
  /** Null: for good. */
  readonly to: number | null;
  /** The share of the occasions at which it strikes. */
  readonly share: number;
  readonly subject: Subject;
  readonly does: Deed;
}

const TRANSPORT: ReadonlySet<string> = new Set<TransportDeed["deed"]>([
  ...(["no connection", "reset", "hang", "status", "one error", "cut", "twice", "another node"] as const),
  ...(["another order", "foreign ids", "missing answers", "slow"] as const),
]);
const CALL: ReadonlySet<string> = new Set<CallDeed["deed"]>([
  ...(["result", "error", "member", "behind", "another fork", "pruned", "block times"] as const),
]);
const HOST: ReadonlySet<string> = new Set<HostDeed["deed"]>([
  ...([
    "kill",
    "freeze",
    "leave",
    "clock step",
    "end sessions",
    "read-only",
    "database away",
    "full disk",
    "failover",
    "slow database",
    "database clock step",
  ] as const),
]);

export function isTransport(does: Deed): does is TransportDeed {
  return TRANSPORT.has(does.deed);
}

export function isCall(does: Deed): does is CallDeed {
  return CALL.has(does.deed);
}

export function isHost(does: Deed): does is HostDeed {
  return HOST.has(does.deed);
}

export function closesLane(does: Deed): does is LaneDeed {
  return ["revoke", "drain lane", "stop lane"].includes(does.deed);
}

export function isActive({ from, to }: Behaviour, now: number): boolean {
  return now >= from && (to === null || now < to);
}
