import { Registry } from "prom-client";
import { limitsOfService } from "../../packages/server/src/model/keys/caller.js";
import type { ResolvedOptions } from "../../packages/server/src/model/options/options.js";
import { PATIENCE } from "../../packages/server/src/model/patience.js";
import type { Logger } from "../../packages/server/src/model/telemetry/log.js";
import { type Network, openNetwork } from "../../packages/server/src/network.js";
import { openStore } from "../../packages/server/src/store/store.js";
import { LoopQueue } from "../../packages/server/src/util/loopQueue.js";
import { Owner, runAs } from "./engine/owner.js";
import type { Realm } from "./engine/realm.js";
import type { Session } from "./engine/session.js";

/** The longest that a replica takes to start, in virtual ms. */
export const START_MS = 60_000;
/** The pause of the supervisor before it starts a replica again. */
const RESTART_MS = 2_000;

/** The parts of a world that all replicas share. */
export interface ReplicaParts {
  readonly realm: Realm;
  readonly options: ResolvedOptions;
  readonly log: Logger;
  /** Takes the sessions of a process that is gone, and resolves when their locks are released. */
  dropSessions(sessions: readonly Session[]): Promise<void>;
}

/** One replica of the service: a process that can be killed, started again and frozen, and whose clock can step. */
export class Replica {
  readonly name: string;
  readonly #parts: ReplicaParts;
  #owner: Owner;
  #network: Network | undefined;
  #leaving = new AbortController();
  /** The processes that have been told to leave, and have not ended. */
  readonly #left = new Set<Owner>();
  #starts = 0;
  /** A supervisor starts it again if it ends by itself. */
  #isWanted = false;

  constructor(name: string, parts: ReplicaParts) {
    this.name = name;
    this.#parts = parts;
    this.#owner = new Owner(name);
  }

  /** The running network; undefined before the start has ended and after a kill. */
  get network(): Network | undefined {
    return this.#network;
  }

  /** Whether it serves requests. A frozen replica takes them, and answers later. */
  get isRunning(): boolean {
    return this.#network !== undefined;
  }

  /** The number of its starts: an earlier life's connections are lost. */
  get life(): number {
    return this.#starts;
  }

  get isFrozen(): boolean {
    return this.#owner.isFrozen;
  }

  /** The terms of the one API key of the world. */
  get caller() {
    const limits = limitsOfService(this.#parts.options);
    return { keyId: "key", limits, allowedTargets: undefined, caps: undefined };
  }

  /** Runs code as this replica's process. */
  run<T>(code: () => T): T {
    return runAs(this.#owner, code);
  }

  /**
   * Starts it, and tries again while the start fails, as a supervisor does. One that is started already stays as it is. Resolves once it
   * runs.
   */
  async start(): Promise<void> {
    if (this.#isWanted) return;
    this.#isWanted = true;
    await this.#open();
  }

  async #open(): Promise<void> {
    const owner = new Owner(this.#starts++ === 0 ? this.name : `${this.name}.${this.#starts}`);
    owner.clockStepMs = this.#owner.clockStepMs;
    this.#owner = owner;
    const leaving = new AbortController();
    this.#leaving = leaving;
    const { realm, options, log } = this.#parts;
    const opening = this.run(async () => {
      const store = await openStore(options, log);
      return await openNetwork({
        isAlone: true,
        ...{ options, store, log, metricsRegistry: new Registry(), patience: PATIENCE },
        loop: new LoopQueue(),
        leaving: leaving.signal,
        onReloadRequested: () => {},
      });
    });
    const network = await opening.catch((error: Error) => {
      realm.journal.note(`${realm.clock.now} ${owner.name} does not start: ${error.message}`);
      return undefined;
    });
    if (owner.isDead) return;
    this.#network = network;
    if (network !== undefined) return;
    this.#end(owner);
    await new Promise<void>((resolve) => void realm.clock.schedule(RESTART_MS, resolve, undefined));
    // It may have been killed for good, or started by others, meanwhile.
    if (this.#isWanted && this.#owner === owner) await this.#open();
  }

  /** Ends it as SIGKILL does: nothing of it happens any more, and the database ends its sessions. */
  kill(): void {
    const { realm } = this.#parts;
    realm.journal.note(`${realm.clock.now} ${this.#owner.name} is killed`);
    this.#isWanted = false;
    this.#network = undefined;
    this.#end(this.#owner);
  }

  /** Ends it as SIGTERM does: it takes nothing more, answers its lines and hands its lanes over. One that does not run is killed. */
  leave(): void {
    const network = this.#network;
    if (network === undefined) {
      this.kill();
      return;
    }
    const { realm } = this.#parts;
    realm.journal.note(`${realm.clock.now} ${this.#owner.name} leaves`);
    this.#isWanted = false;
    this.#network = undefined;
    this.#leaving.abort();
    const owner = this.#owner;
    this.#left.add(owner);
    const leaving = this.run(async () => {
      await network.drain();
      await network.close();
    });
    leaving.then(
      () => this.#end(owner),
      () => this.#end(owner),
    );
  }

  /** Ends all its processes, because the world is over. One that went on would work in the next world. */
  endAll(): void {
    this.kill();
    for (const owner of this.#left) this.#end(owner);
  }

  #end(owner: Owner): void {
    const { realm, dropSessions } = this.#parts;
    this.#left.delete(owner);
    owner.isDead = true;
    owner.isFrozen = false;
    owner.held.length = 0;
    void realm.gate.exclusively(() => dropSessions(realm.sessions.ofOwner(owner)));
  }

  /** Stops it as SIGSTOP does. */
  freeze(): void {
    this.#owner.isFrozen = true;
  }

  thaw(): void {
    this.#parts.realm.clock.thaw(this.#owner);
  }

  /** Sets its machine's clock ahead, or back where `ms` is negative, by more than before. */
  stepClock(ms: number): void {
    this.#owner.clockStepMs += ms;
  }
}
