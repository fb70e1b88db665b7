import type { SubmissionRecord } from "@gas-waiver/protocol";
import { StartError } from "../model/errors.js";
import { type DayRange, dayAt, dayOfId, daysOf, endOf, startOf } from "../model/submission/dayRange.js";
import { toSubmissionRecord } from "../model/submission/submissionRecord.js";
import { openRunningStore, type Store, type StoreLocation } from "../store/store.js";
import { firstIdAt } from "../store/submissions/listSubmissions.js";
import {
  firstKeptId,
  type Outcome,
  outcomePage,
  recordExports,
  unfinishedIn,
  visibleUntil,
} from "../store/submissions/outcomes.js";

/** The record of a final outcome (D15), with what operators alone see. */
export interface OutcomeRecord extends SubmissionRecord {
  readonly chainId: number;
  /** The API key that submitted it. */
  readonly keyId: string;
  /** How many wrappers were signed for it. */
  readonly signings: number;
}

/** Reads the outcomes of whole days, by the time in their ids. */
export type OutcomeExport = Awaited<ReturnType<typeof openOutcomeExport>>;

/** A replica gives a submission its id before it is in the store, by its own clock. */
const LATE_MS = 15 * 60_000;
const PAGE_SIZE = 5_000;

/**
 * Connects to the store of a service, by its database URL or, while the service runs, by its data folder.
 * @throws {@link StartError} if the store cannot be reached.
 */
export async function openOutcomeExport(location: StoreLocation) {
  const store = await openRunningStore(location);
  return {
    /**
     * Makes sure that the days have all their outcomes, which then never change: the days are over, and nothing that came in
     * them is unfinished. Days that have been dropped are refused.
     * @throws {@link StartError} that says what is missing.
     */
    assertComplete: (range: DayRange) => assertComplete(store, range),
    /**
     * Yields all outcomes of the days in pages, the oldest first. No statement takes longer than a page, and none is open
     * between pages.
     * @param after begins behind the outcome with this id.
     * @throws {@link StartError} at the end if a day was dropped meanwhile.
     */
    pages: (range: DayRange, after?: string) => pagesOf(store, range, after),
    /** Records that the export of these days is complete and safe. @param rows the number of outcomes of each day with some. */
    recordExported: (range: DayRange, rows: Readonly<Record<string, number>>) =>
      recordExports(
        store,
        daysOf(range).map((day) => ({ day, rows: rows[day] ?? 0 })),
      ),
    close: () => store.close(),
  };
}

async function assertComplete(store: Store, range: DayRange): Promise<void> {
  const { from, to } = range;
  await assertKept(store, range);
  const completeUntil = new Date((await visibleUntil(store)).getTime() - LATE_MS);
  if (endOf(to) > completeUntil) {
    throw new StartError(
      `the day ${to} is not complete: a day can be exported 15 minutes after its end (UTC), when no transaction of the database is open that has begun before; the last day that can be is ${lastDayBefore(completeUntil)}`,
    );
  }
  const unfinished = await unfinishedIn(store, {
    after: firstIdAt(startOf(from)),
    before: firstIdAt(endOf(to)),
  });
  if (unfinished === undefined) return;
  const { count, oldestId } = unfinished;
  throw new StartError(
    `the day ${dayOfId(oldestId)} is not complete: ${count} submission(s) of the days asked for are unfinished, the oldest is ${oldestId}; export the days before it, or wait for its outcome`,
  );
}

async function assertKept(store: Store, { from }: DayRange): Promise<void> {
  const firstId = await firstKeptId(store);
  if (firstId === undefined || firstIdAt(startOf(from)) >= firstId) return;
  throw new StartError(
    `the day ${from} has left the store: the first one that it keeps is ${dayOfId(firstId)}`,
  );
}

const lastDayBefore = (time: Date) => dayAt(new Date(startOf(dayAt(time)).getTime() - 1));

/** Reads the next page while the caller works on the one before. */
async function* pagesOf(store: Store, range: DayRange, after = firstIdAt(startOf(range.from))) {
  let next: Promise<Page> | undefined = readPage(store, after, range.to);
  while (next) {
    const { outcomes, end }: Page = await next;
    next = end === undefined ? undefined : readPage(store, end, range.to);
    // The loop awaits it later; until then, its failure must not end the process.
    next?.catch(() => {});
    if (outcomes.length > 0) yield outcomes.map(toOutcomeRecord);
  }
  await assertKept(store, range);
}

interface Page {
  readonly outcomes: readonly Outcome[];
  /** The id behind which the next page begins; undefined on the last page. */
  readonly end: string | undefined;
}

/** Reads a page of one day. */
async function readPage(store: Store, after: string, lastDay: string): Promise<Page> {
  const day = dayOfId(after);
  const before = firstIdAt(endOf(day));
  const outcomes = await outcomePage(store, { after, before }, PAGE_SIZE);
  if (outcomes.length === PAGE_SIZE) return { outcomes, end: outcomes.at(-1)?.submission.id };
  return { outcomes, end: day < lastDay ? before : undefined };
}

function toOutcomeRecord({ submission, chainId, signings }: Outcome): OutcomeRecord {
  const { id, ...record } = toSubmissionRecord(submission);
  return { id, chainId, keyId: submission.keyId, ...record, signings };
}
