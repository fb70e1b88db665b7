/** Something that is looked at again and again, at times of its own. */
export interface Look {
  /** Looks at once, or after a time in ms if no earlier look is due; once more if it is looking now. */
  wake(afterMs?: number): void;
  /** Looks at once, unless a time for the next look is set. */
  start(): void;
  /** Ends it. Resolves when it is not looking any more. */
  end(): Promise<void>;
}

/** @returns the time until the next look, in ms; undefined if it rests until it is woken. One that rejects comes again. */
export type LookAgain = () => Promise<number | undefined>;

/** Called with the error of a look that has failed. */
type OnError = (error: unknown) => void;

/** Decides when to look at what is due. */
export interface Schedule {
  /** @param afterMs the time until the first look. Default: it rests until it is woken. */
  look(lookAgain: LookAgain, afterMs?: number): Look;
  readonly onError: OnError;
}

/** The rest between two looks that take turns, in ms. */
const TURN_MS = 200;
/** The rest after a look that has failed, in ms. */
const FAILED_MS = 1_000;
/** The least rest after a look, in ms: one that is due again at once lets the process do something else. */
const MIN_REST_MS = 1;
/** A timer of Node cannot run for longer, in ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const NEVER = Number.POSITIVE_INFINITY;
const monotonicMs = () => performance.now();

/**
 * The one timer by which the lanes of a replica look again at what they wait for.
 * @param now a monotonic clock in ms.
 */
export function createSchedule(onError: OnError, now: () => number = monotonicMs): Schedule {
  const looks = new Looks(now, onError, (at) => (looks.isEmpty ? timer.clear() : timer.set(at)));
  const timer = createTimer(now, () => {
    for (const entry of looks.due()) void looks.lookAt(entry).then(() => timer.set(looks.nextAt));
    timer.set(looks.nextAt);
  });
  return looks;
}

/** Looks that take turns in another schedule: one at a time, some times a second, the one whose last look was longest ago. */
export function createTurns(schedule: Schedule, now: () => number = monotonicMs) {
  const looks = new Looks(now, schedule.onError, () => turn.wake());
  let freeAt = 0;
  const turn = schedule.look(async () => {
    for (const entry of now() < freeAt ? [] : looks.due()) {
      // A look that has nothing to look at leaves its turn to the next.
      if ((await looks.lookAt(entry)) === undefined) continue;
      freeAt = now() + TURN_MS;
      break;
    }
    return looks.nextAt === NEVER ? undefined : Math.max(looks.nextAt, freeAt) - now();
  });
  return { look: looks.look, end: turn.end };
}

interface Entry {
  readonly lookAgain: LookAgain;
  dueAt: number;
  looking: Promise<number | undefined> | undefined;
}

/** Looks with their times. */
class Looks {
  readonly #entries = new Set<Entry>();
  readonly #now: () => number;
  readonly #onChange: (at: number) => void;
  readonly onError: OnError;

  /** @param onChange called when an entry has got an earlier time, and when one has ended. */
  constructor(now: () => number, onError: OnError, onChange: (at: number) => void) {
    this.#now = now;
    this.onError = onError;
    this.#onChange = onChange;
  }

  look = (lookAgain: LookAgain, afterMs = NEVER): Look => {
    const entry: Entry = { lookAgain, dueAt: this.#now() + afterMs, looking: undefined };
    this.#entries.add(entry);
    if (afterMs < NEVER) this.#onChange(entry.dueAt);
    const wake = (afterMs = 0) => {
      entry.dueAt = Math.min(entry.dueAt, this.#now() + afterMs);
      if (this.#entries.has(entry) && !entry.looking) this.#onChange(entry.dueAt);
    };
    return {
      wake,
      start() {
        if (entry.dueAt === NEVER && !entry.looking) wake();
      },
      end: async () => {
        this.#entries.delete(entry);
        this.#onChange(NEVER);
        await entry.looking;
      },
    };
  };

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  get nextAt(): number {
    return [...this.#entries].reduce((at, { looking, dueAt }) => (looking ? at : Math.min(at, dueAt)), NEVER);
  }

  /** The entries that are due, the one whose last look was longest ago first. */
  due(): Entry[] {
    return [...this.#entries].filter(({ looking, dueAt }) => !looking && dueAt <= this.#now());
  }

  async lookAt(entry: Entry): Promise<number | undefined> {
    if (!this.#entries.delete(entry)) return undefined;
    this.#entries.add(entry);
    entry.dueAt = NEVER;
    entry.looking = this.#restAfter(entry);
    const restMs = await entry.looking;
    entry.looking = undefined;
    const now = this.#now();
    entry.dueAt = Math.max(now + MIN_REST_MS, Math.min(entry.dueAt, now + (restMs ?? NEVER)));
    return restMs;
  }

  async #restAfter({ lookAgain }: Entry): Promise<number | undefined> {
    try {
      return await lookAgain();
    } catch (error) {
      this.onError(error);
      return FAILED_MS;
    }
  }
}

/** A timer that fires at the earliest of the times that were set since it fired last. It keeps no process alive. */
function createTimer(now: () => number, onTime: () => void) {
  let firesAt = NEVER;
  let timeout: NodeJS.Timeout | undefined;
  const fire = () => {
    firesAt = NEVER;
    onTime();
  };
  return {
    set(at: number): void {
      if (at >= firesAt) return;
      clearTimeout(timeout);
      firesAt = at;
      const ms = at - now();
      if (ms <= 0) queueMicrotask(fire);
      else timeout = setTimeout(fire, Math.min(ms, MAX_TIMER_MS)).unref();
    },
    clear(): void {
      clearTimeout(timeout);
      firesAt = NEVER;
    },
  };
}
