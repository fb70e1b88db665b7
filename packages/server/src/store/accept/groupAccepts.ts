import { isStoreUnavailable } from "../database.js";
import type { Acceptance, Applicant } from "./applicant.js";
import { CompetitorGoneError } from "./competitors.js";

/** Accepts all applicants in one durable write. One answer for each, in their order. */
export type Accept = (applicants: readonly Applicant[]) => Promise<Acceptance[]>;

interface WaitingRequest {
  readonly applicants: readonly Applicant[];
  readonly resolve: (acceptances: Acceptance[]) => void;
  readonly reject: (error: unknown) => void;
}

/** A second concurrent write uses the time in which the first waits for the disk. */
const CONCURRENT_WRITES = 2;
/** A write of several requests has at most this many applicants. */
const MAX_APPLICANTS = 500;
const MAX_ATTEMPTS = 3;

/**
 * Groups requests that come during a write into the next one: a durable write costs about the same for one submission
 * as for a hundred. A request that comes while no write runs is written at once.
 * @param concurrency the number of writes that may run at the same time.
 */
export function groupAccepts(accept: Accept, concurrency = CONCURRENT_WRITES): Accept {
  const waiting: WaitingRequest[] = [];
  let writes = 0;
  const proceed = () => {
    while (writes < concurrency && waiting.length > 0) {
      writes++;
      write(nextGroup(waiting), accept).finally(() => {
        writes--;
        proceed();
      });
    }
  };
  return (applicants) => {
    if (applicants.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      waiting.push({ applicants, resolve, reject });
      proceed();
    });
  };
}

/** Takes the requests of the next write: at least one, and no more applicants than one write may have. */
function nextGroup(waiting: WaitingRequest[]): WaitingRequest[] {
  let size = 0;
  const end = waiting.findIndex(({ applicants }, i) => {
    size += applicants.length;
    return i > 0 && size > MAX_APPLICANTS;
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** Writes a group, and settles the promise of each of its requests. Never throws. */
async function write(group: readonly WaitingRequest[], accept: Accept): Promise<void> {
  try {
    const acceptances = await accept(group.flatMap(({ applicants }) => applicants));
    let from = 0;
    for (const { applicants, resolve } of group) {
      resolve(acceptances.slice(from, from + applicants.length));
      from += applicants.length;
    }
  } catch (error) {
    // An unavailable store fails every request. Any other failure must not, so each request is written alone.
    for (const request of group) {
      if (isStoreUnavailable(error)) request.reject(error);
      else await writeAlone(request, accept);
    }
  }
}

/** Repeats the write when a competitor has failed between the write and its lookup. */
async function writeAlone({ applicants, resolve, reject }: WaitingRequest, accept: Accept): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return resolve(await accept(applicants));
    } catch (error) {
      if (!(error instanceof CompetitorGoneError) || attempt === MAX_ATTEMPTS) return reject(error);
    }
  }
}
