import { isStoreUnavailable } from "../storeTrouble.js";
import { CompetitorGoneError } from "./competitors.js";
import type { Acceptance, NewSubmission } from "./newSubmission.js";

/** Accepts all new submissions in one durable write. One answer for each, in their order. */
export type Accept = (newSubmissions: readonly NewSubmission[]) => Promise<Acceptance[]>;

interface WaitingRequest {
  readonly newSubmissions: readonly NewSubmission[];
  readonly resolve: (acceptances: Acceptance[]) => void;
  readonly reject: (error: unknown) => void;
}

/** A second concurrent write uses the time in which the first waits for the disk. */
const CONCURRENT_WRITES = 2;
/** A write of several requests has at most this many new submissions. */
const MAX_NEW_SUBMISSIONS = 500;
const MAX_ATTEMPTS = 3;

/**
 * Groups requests that wait for a write into the next one: a durable write costs about the same for one submission as for
 * a hundred. A request that comes while fewer than `concurrency` writes run is written at once.
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
  return (newSubmissions) => {
    if (newSubmissions.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      waiting.push({ newSubmissions, resolve, reject });
      proceed();
    });
  };
}

/** Takes the requests of the next write: at least one, and no more new submissions than one write may have. */
function nextGroup(waiting: WaitingRequest[]): WaitingRequest[] {
  let size = 0;
  const end = waiting.findIndex(({ newSubmissions }, i) => {
    size += newSubmissions.length;
    return i > 0 && size > MAX_NEW_SUBMISSIONS;
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** Writes a group, and settles the promise of each of its requests. Never throws. */
async function write(group: readonly WaitingRequest[], accept: Accept): Promise<void> {
  try {
    const acceptances = await accept(group.flatMap(({ newSubmissions }) => newSubmissions));
    let from = 0;
    for (const { newSubmissions, resolve } of group) {
      resolve(acceptances.slice(from, from + newSubmissions.length));
      from += newSubmissions.length;
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
async function writeAlone(
  { newSubmissions, resolve, reject }: WaitingRequest,
  accept: Accept,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return resolve(await accept(newSubmissions));
    } catch (error) {
      if (!(error instanceof CompetitorGoneError) || attempt === MAX_ATTEMPTS) return reject(error);
    }
  }
}
