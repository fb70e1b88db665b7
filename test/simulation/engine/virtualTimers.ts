import type { ScheduledEvent } from "./clock.js";
import { currentOwner, type Owner, runAs } from "./owner.js";
import type { Realm } from "./realm.js";
import { real } from "./realTime.js";

type Callback = (...args: unknown[]) => void;

/** A timer of virtual time, as `setTimeout` and `setInterval` return it. */
class VirtualTimer {
  readonly #realm: Realm;
  readonly #run: () => void;
  readonly #ms: number;
  readonly #isRepeated: boolean;
  readonly #owner: Owner | undefined;
  #event: ScheduledEvent;

  constructor(realm: Realm, run: () => void, ms: unknown, isRepeated: boolean) {
    this.#realm = realm;
    this.#run = run;
    // As Node does: at least one whole millisecond.
    const whole = Math.trunc(Number(ms));
    this.#ms = whole >= 1 && whole < 2 ** 31 ? whole : 1;
    this.#isRepeated = isRepeated;
    this.#owner = currentOwner();
    this.#event = this.#schedule();
  }

  #schedule(): ScheduledEvent {
    return this.#realm.clock.schedule(this.#ms, () => this.#fire(), this.#owner);
  }

  #fire(): void {
    if (this.#isRepeated) this.#event = this.#schedule();
    this.#run();
  }

  refresh(): this {
    this.close();
    this.#event = this.#schedule();
    return this;
  }

  close(): this {
    this.#event.isCancelled = true;
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.toPrimitive](): number {
    return this.#event.sequence;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** An immediate, which is counted until it has run: virtual time waits for it. */
class CountedImmediate {
  readonly #realm: Realm;
  readonly #handle: NodeJS.Immediate;
  #isOver = false;

  constructor(realm: Realm, run: () => void) {
    this.#realm = realm;
    const owner = currentOwner();
    realm.activity.immediateSet();
    this.#handle = real.setImmediate(() => {
      this.#end();
      if (!owner?.isDead) runAs(owner, run);
    });
  }

  clear(): void {
    if (this.#isOver) return;
    real.clearImmediate(this.#handle);
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#realm.activity.immediateGone();
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}

/** The timer functions of a process, which work in virtual time while `currentRealm` returns a world. */
export function virtualTimers(currentRealm: () => Realm | undefined) {
  const timer = (isRepeated: boolean, otherwise: Callback) =>
    function set(run: Callback, ms?: number, ...args: unknown[]) {
      const realm = currentRealm();
      if (realm === undefined) return otherwise(run, ms, ...args);
      return new VirtualTimer(realm, () => run(...args), ms, isRepeated);
    };
  const clear = (handle: unknown) => {
    if (handle instanceof VirtualTimer) handle.close();
    else real.clearTimeout(handle as NodeJS.Timeout);
  };
  return {
    setTimeout: timer(false, real.setTimeout as Callback),
    setInterval: timer(true, real.setInterval as Callback),
    clearTimeout: clear,
    clearInterval: clear,
    setImmediate(run: Callback, ...args: unknown[]) {
      const realm = currentRealm();
      if (realm === undefined) return (real.setImmediate as (...all: unknown[]) => unknown)(run, ...args);
      return new CountedImmediate(realm, () => run(...args));
    },
    clearImmediate(handle: unknown) {
      if (handle instanceof CountedImmediate) handle.clear();
      else real.clearImmediate(handle as NodeJS.Immediate);
    },
  };
}
