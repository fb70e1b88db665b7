import { Socket } from "node:net";
import type pg from "pg";
import { queryNow } from "./driver.js";
import { currentOwner, runAs } from "./owner.js";

/** The parts of the driver's client that its types leave out. */
interface ClientParts {
  readonly readyForQuery: boolean;
  readonly _queryQueue: readonly unknown[];
  _ending: boolean;
  getStartupConf(): object;
  readonly connection: {
    /** Where the connection is kept, another one that is closed. */
    stream: Socket;
    /** The texts of the named statements that the server has planned. */
    parsedStatements: Record<string, string>;
    once(event: string, listener: () => void): void;
  };
}

/** A connection at which a client has greeted the server. */
interface Greeted {
  /** The names of user, database and application, and the settings that came with the greeting. */
  readonly name: string;
  /** The bytes with which the server answered. */
  readonly answer: Buffer[];
  /** The socket's own listeners, which are not the driver's. */
  readonly listeners: ReadonlySet<unknown>;
}

interface Kept {
  readonly socket: Socket;
  readonly statements: Record<string, string>;
}

/** Takes everything from a session but its plans. */
const FORGET =
  "rollback; reset all; unlisten *; close all; select pg_advisory_unlock_all(); discard temp; discard sequences";

/**
 * Connections that outlive their clients and worlds. A process of the server that begins costs more than all statements of a short world:
 * it reads the catalog, and plans each statement. So the next clients get the connections of clients that have ended, and hear the
 * server's answer to their greeting as if they were new.
 */
export class KeptConnections {
  readonly #greeted = new WeakMap<Socket, Greeted>();
  #kept = new Map<string, Kept[]>();

  /** Gives a client that is about to connect a kept connection, if there is one for its greeting. */
  lend(client: pg.Client): void {
    const parts = partsOf(client);
    const { connection } = parts;
    const name = JSON.stringify(parts.getStartupConf());
    const kept = this.#take(name);
    if (kept === undefined) {
      this.#hearGreeting(name, connection);
      return;
    }
    connection.stream = this.#repeatGreeting(kept.socket);
    connection.parsedStatements = kept.statements;
  }

  #take(name: string): Kept | undefined {
    const kept = this.#kept.get(name)?.pop();
    return kept?.socket.destroyed ? this.#take(name) : kept;
  }

  #hearGreeting(name: string, connection: ClientParts["connection"]): void {
    const { stream } = connection;
    const answer: Buffer[] = [];
    const hear = (bytes: Buffer) => void answer.push(bytes);
    stream.on("error", () => {});
    this.#greeted.set(stream, {
      name,
      answer,
      listeners: new Set(listenersOf(stream).map(([, one]) => one)),
    });
    connection.once("connect", () => void stream.prependListener("data", hear));
    connection.once("readyForQuery", () => void stream.off("data", hear));
  }

  /**
   * Lets a socket connect, and hear the answer to its first words, without the server. Its events come to the process that has it now:
   * Node gives them to the one that has opened it.
   */
  #repeatGreeting(socket: Socket): Socket {
    const { answer } = this.#greeted.get(socket) as Greeted;
    const owner = currentOwner();
    const { emit } = socket;
    return Object.assign(socket, {
      emit: (...event: Parameters<Socket["emit"]>) => runAs(owner, () => emit.apply(socket, event)),
      connect: () => void process.nextTick(() => socket.emit("connect")),
      write: () => {
        restore(socket, ["connect", "write"]);
        process.nextTick(() => answer.forEach((bytes) => void socket.emit("data", bytes)));
      },
    });
  }

  /** Takes the connection of a client that nobody uses any more. @returns false for one with a statement at work, which stays as it is. */
  async keep(client: pg.Client): Promise<boolean> {
    const parts = partsOf(client);
    const { connection } = parts;
    const { stream: socket, parsedStatements: statements } = connection;
    const greeted = this.#greeted.get(socket);
    if (greeted === undefined || !isIdle(client)) return false;
    await queryNow(client, FORGET);
    for (const [event, listener] of listenersOf(socket))
      if (!greeted.listeners.has(listener)) socket.off(event, listener);
    restore(socket, ["destroy", "emit", "setTimeout"]);
    this.#kept.set(greeted.name, [...(this.#kept.get(greeted.name) ?? []), { socket, statements }]);
    connection.stream = new Socket().destroy();
    // The driver refuses what is asked of a client that ends.
    parts._ending = true;
    return true;
  }

  get count(): number {
    return [...this.#kept.values()].flat().filter(({ socket }) => !socket.destroyed).length;
  }

  /** Ends all of them. */
  clear(): void {
    for (const { socket } of [...this.#kept.values()].flat()) socket.destroy();
    this.#kept = new Map();
  }
}

/** Whether the server has answered all that the client has asked. */
function isIdle(client: pg.Client): boolean {
  const { readyForQuery, _queryQueue, connection } = partsOf(client);
  return readyForQuery && _queryQueue.length === 0 && !connection.stream.destroyed;
}

const partsOf = (client: pg.Client) => client as unknown as ClientParts;

function listenersOf(socket: Socket): [event: string, listener: () => void][] {
  return socket
    .eventNames()
    .flatMap((event) =>
      socket.rawListeners(event).map((one) => [event as string, one as () => void] as [string, () => void]),
    );
}

/** Gives a socket its own functions back. */
function restore(socket: Socket, names: readonly (keyof Socket)[]): void {
  for (const name of names) Reflect.deleteProperty(socket, name);
}
