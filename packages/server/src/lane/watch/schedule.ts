/** Something that is looked at again and again, at times of its own. */
export interface Look {
  /** Looks at once; once more if it is looking now. */
  wake(): void;
  /** Looks at once, unless a time for the next look is set. */
  start(): void;
  /** Ends it. Resolves when it is not looking any more. */
  end(): Promise<void>;
}

/** @returns the time until the next look, in ms; undefined if it rests until it is woken. Must not reject. */
export type LookAgain = () => Promise<number | undefined>;

/** Looks with one budget look one after the other, the one that has waited longest first, and some times a second. */
export interface LookBudget {
  isSpent: boolean;
  /** In ms of the schedule's clock. */
  freeAt: number;
}

export interface LookOptions {
  /** Without one, the look waits for no other. */
  readonly budget?: LookBudget;
  /** The time until the first look, in ms. Default: it rests until it is woken. */
  readonly afterMs?: number;
}

/** The one timer by which a replica looks again at what it waits for. */
export interface Schedule {
  look(lookAgain: LookAgain, options?: LookOptions): Look;
  createBudget(): LookBudget;
}

/** The rest between two looks of one budget, in ms. */
const BUDGET_REST_MS = 200;
const NEVER = Number.POSITIVE_INFINITY;

interface Entry {
  readonly lookAgain: LookAgain;
  readonly budget: LookBudget | undefined;
  dueAt: number;
  looking: Promise<void> | undefined;
}

/** @param now a monotonic clock in ms. */
export function createSchedule(now: () => number = () => performance.now()): Schedule {
  const entries = new Set<Entry>();
  const timer = createTimer(now, () => {
    const due = [...entries].filter((entry) => !entry.looking && startOf(entry) <= now());
    for (const entry of due.sort((a, b) => a.dueAt - b.dueAt)) if (!entry.budget?.isSpent) begin(entry);
    timer.set([...entries].reduce((first, entry) => Math.min(first, startOf(entry)), NEVER));
  });
  const begin = (entry: Entry) => {
    const { budget } = entry;
    // The look that was longest ago comes first among those that are due since the same moment.
    entries.delete(entry);
    entries.add(entry);
    entry.dueAt = NEVER;
    if (budget) budget.isSpent = true;
    entry.looking = entry.lookAgain().then((restMs) => {
      entry.looking = undefined;
      if (budget) Object.assign(budget, { isSpent: false, freeAt: now() + BUDGET_REST_MS });
      entry.dueAt = Math.min(entry.dueAt, restMs === undefined ? NEVER : now() + restMs);
      // Others with the budget may be due as well.
      timer.set(budget ? budget.freeAt : startOf(entry));
    });
  };
  return {
    createBudget: () => ({ isSpent: false, freeAt: 0 }),
    look(lookAgain, { budget, afterMs = NEVER } = {}) {
      const entry: Entry = { lookAgain, budget, dueAt: now() + afterMs, looking: undefined };
      entries.add(entry);
      timer.set(startOf(entry));
      const wake = () => {
        entry.dueAt = Math.min(entry.dueAt, now());
        if (entries.has(entry)) timer.set(startOf(entry));
      };
      return {
        wake,
        start() {
          if (entry.dueAt === NEVER && !entry.looking) wake();
        },
        async end() {
          entries.delete(entry);
          if (entries.size === 0) timer.clear();
          await entry.looking;
        },
      };
    },
  };
}

/** The time at which the look can begin. One that is looking, or whose budget is spent, sets the timer when that is over. */
function startOf({ dueAt, budget, looking }: Entry): number {
  if (looking || budget?.isSpent) return NEVER;
  return budget ? Math.max(dueAt, budget.freeAt) : dueAt;
}

/** A timer that fires at the earliest of the times that were set since it fired last. */
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
      else timeout = setTimeout(fire, ms);
    },
    clear(): void {
      clearTimeout(timeout);
      firesAt = NEVER;
    },
  };
}
