import type { Duplex } from "node:stream";
import type { Grant } from "../../keys/cachedKey.js";

/** An open connection, with the groups that it counts in. */
export interface Connection {
  readonly socket: Duplex;
  /** The narrowest group first. */
  readonly groups: readonly ConnectionGroup[];
  /** In ms, when it was opened or renewed. */
  openedAt: number;
  /** The right that its latest valid key gave. "kept" has no end. */
  right: Pick<Grant, "caller" | "signal"> | "kept" | undefined;
  /** Its requests in flight. A WebSocket is one. */
  inFlight: number;
}

/** The kinds of connections that may be dropped for a new one, the first ones first: without a valid key, and of publishable keys. */
const DROPPABLE = ["keyless", "idle", "busy"] as const;
type Droppable = (typeof DROPPABLE)[number];

/** Connections under one limit: those of one address, of its network, or of the whole port. Sets have the oldest, or the longest idle, first. */
export class ConnectionGroup {
  readonly name: string;
  readonly limit: number;
  open = 0;
  readonly #droppable: Readonly<Record<Droppable, Set<Connection>>> = {
    keyless: new Set(),
    idle: new Set(),
    busy: new Set(),
  };

  constructor(name: string, limit: number) {
    this.name = name;
    this.limit = limit;
  }

  get keyless(): ReadonlySet<Connection> {
    return this.#droppable.keyless;
  }

  /** The number of connections of publishable keys. */
  get publishable(): number {
    return this.#droppable.idle.size + this.#droppable.busy.size;
  }

  /** Puts a connection where it belongs now, behind the others. */
  place(connection: Connection): void {
    this.remove(connection);
    const kind = kindOf(connection);
    if (kind !== undefined) this.#droppable[kind].add(connection);
  }

  remove(connection: Connection): void {
    for (const kind of DROPPABLE) if (this.#droppable[kind].delete(connection)) return;
  }

  /** The connection that is dropped first; undefined if all are of secret keys. */
  first(): Connection | undefined {
    for (const kind of DROPPABLE) for (const connection of this.#droppable[kind]) return connection;
    return undefined;
  }
}

/** @returns undefined for a connection of a secret key. */
function kindOf({ right, inFlight }: Connection): Droppable | undefined {
  if (right === "kept") return undefined;
  if (right === undefined || right.signal.aborted) return "keyless";
  if (right.caller.publishable === undefined) return undefined;
  return inFlight > 0 ? "busy" : "idle";
}
