import type { Socket } from "node:net";
import type { Client, QueryConfig } from "pg";
import type { ScheduledEvent, VirtualClock } from "./clock.js";
import type { Owner } from "./owner.js";

/** The parts of the driver's client that its types leave out. */
interface ClientParts {
  readonly processID: number | null;
  readonly connection: {
    readonly stream: Socket;
    on(event: "error", listener: (error: Error) => void): void;
    once(event: "readyForQuery", listener: () => void): void;
    prependListener(event: "errorMessage", listener: (message: { code?: string }) => void): void;
  };
  readonly readyForQuery: boolean | null;
  getTransactionStatus(): "I" | "T" | "E" | null;
}

/** The world around a session: it ends the session's statement, or the session itself. */
export interface SessionControl {
  /** The session's socket begins to close. */
  onClosing(session: Session): void;
  cancel(session: Session): void;
  end(session: Session): void;
}

type Limit = "lock_timeout" | "idle_in_transaction_session_timeout";

const UNIT_MS: Readonly<Record<string, number>> = { "": 1, ms: 1, s: 1_000, min: 60_000 };
const SETTING = /set (local )?(lock_timeout|idle_in_transaction_session_timeout) = '?(\d+)(ms|s|min)?'?/g;

/**
 * A connection of the service to PostgreSQL. Its time limits are kept in virtual time: those that it sets on the server, where the real
 * ones are switched off, and that of its socket.
 */
export class Session {
  readonly client: Client;
  readonly owner: Owner | undefined;
  readonly #clock: VirtualClock;
  readonly #control: SessionControl;
  readonly #limits = new Map<Limit, number>();
  readonly #localLimits = new Map<Limit, number>();
  readonly #answers = new Set<PendingAnswer>();
  #silenceMs = 0;
  #silence: ScheduledEvent | undefined;
  #idle: ScheduledEvent | undefined;
  #lockWait: ScheduledEvent | undefined;
  #loss: Error | undefined;
  /** The time limit that has ended its statement or itself. */
  #exceeded: Limit | undefined;

  constructor(client: Client, owner: Owner | undefined, clock: VirtualClock, control: SessionControl) {
    this.client = client;
    this.owner = owner;
    this.#clock = clock;
    this.#control = control;
    const { connection } = this.#parts;
    connection.on("error", (error) => {
      this.#loss ??= error;
    });
    connection.prependListener("errorMessage", (message) => this.#nameLimit(message));
    connection.stream.once("close", () => this.fail());
    const destroy = connection.stream.destroy.bind(connection.stream);
    connection.stream.destroy = (error) => {
      if (!connection.stream.destroyed) control.onClosing(this);
      return destroy(error);
    };
    connection.stream.setTimeout = (ms) => {
      this.#silenceMs = ms;
      return connection.stream;
    };
  }

  get #parts(): ClientParts {
    return this.client as unknown as ClientParts;
  }

  /** The number of its process at the server; 0 before the connection is made. */
  get pid(): number {
    return this.#parts.processID ?? 0;
  }

  get isClosed(): boolean {
    return this.#parts.connection.stream.destroyed;
  }

  /** Resolves when its socket has closed. */
  async closed(): Promise<void> {
    const { stream } = this.#parts.connection;
    if (!stream.closed) await new Promise((resolve) => void stream.once("close", resolve));
  }

  /** Cuts it without a word to the process that has it. */
  cut(): void {
    this.client.on("error", () => {});
    this.#parts.connection.stream.destroy();
  }

  /** Takes the time limits out of a statement that sets them. */
  adapt(config: string | QueryConfig): string | QueryConfig {
    const text = typeof config === "string" ? config : config.text;
    if (!text.includes("_timeout = ")) return config;
    const adapted = text.replace(SETTING, (_, local, name: Limit, amount: string, unit = "") => {
      const limits = local === undefined ? this.#limits : this.#localLimits;
      limits.set(name, Number(amount) * (UNIT_MS[unit] ?? 1));
      return `set ${local ?? ""}${name} = 0`;
    });
    return typeof config === "string" ? adapted : { ...config, text: adapted };
  }

  /** A statement begins. */
  issued(answer: PendingAnswer): void {
    this.#answers.add(answer);
    cancel(this.#idle);
    this.#watchSilence();
  }

  /**
   * Resolves when the server takes the next statement. It tells of an error before it releases the transaction's locks. A connection that
   * could not be made has neither.
   */
  async ready(): Promise<void> {
    const { connection, readyForQuery } = this.#parts;
    if (readyForQuery || this.pid === 0 || this.isClosed) return;
    await new Promise<void>((resolve) => {
      connection.once("readyForQuery", resolve);
      connection.stream.once("close", resolve);
    });
  }

  /** The server has done a statement. */
  done(): void {
    cancel(this.#lockWait);
    this.#lockWait = undefined;
    const isInTransaction = this.#parts.getTransactionStatus() !== "I";
    if (!isInTransaction) this.#localLimits.clear();
    const limitMs = this.#limit("idle_in_transaction_session_timeout");
    if (isInTransaction && limitMs > 0)
      this.#idle = this.#clock.schedule(
        limitMs,
        () => this.#exceed("idle_in_transaction_session_timeout"),
        undefined,
      );
  }

  /** The answer to a statement has come to its process. */
  answered(answer: PendingAnswer): void {
    this.#answers.delete(answer);
    cancel(this.#silence);
    if (this.#answers.size > 0) this.#watchSilence();
  }

  /** The server lets a statement wait for a lock. */
  blocked(): void {
    const limitMs = this.#limit("lock_timeout");
    if (limitMs > 0)
      this.#lockWait ??= this.#clock.schedule(limitMs, () => this.#exceed("lock_timeout"), undefined);
  }

  #limit(name: Limit): number {
    return this.#localLimits.get(name) ?? this.#limits.get(name) ?? 0;
  }

  #exceed(limit: Limit): void {
    this.#exceeded = limit;
    if (limit === "lock_timeout") this.#control.cancel(this);
    else this.#control.end(this);
  }

  /** Gives an error of the server the code that it has where the server itself keeps the time limit. */
  #nameLimit(message: { code?: string }): void {
    if (this.#exceeded === "lock_timeout" && message.code === "57014") message.code = "55P03";
    if (this.#exceeded === "idle_in_transaction_session_timeout" && message.code === "57P01")
      message.code = "25P03";
    this.#exceeded = undefined;
  }

  #watchSilence(): void {
    cancel(this.#silence);
    if (this.#silenceMs === 0) return;
    const onSilence = () => void this.#parts.connection.stream.emit("timeout");
    this.#silence = this.#clock.schedule(this.#silenceMs, onSilence, this.owner);
  }

  /** The connection is gone: answers that were still on their way do not come. */
  fail(): void {
    for (const event of [this.#idle, this.#silence, this.#lockWait]) cancel(event);
    for (const answer of this.#answers)
      answer.lose(this.#loss ?? new Error("Connection terminated unexpectedly"));
    this.#answers.clear();
  }
}

/** An answer of the server on its way to the process that waits for it. */
export interface PendingAnswer {
  /** Gives the waiting process an error instead. */
  lose(error: Error): void;
}

function cancel(event: ScheduledEvent | undefined): void {
  if (event !== undefined) event.isCancelled = true;
}
