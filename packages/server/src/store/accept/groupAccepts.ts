import { isStoreUnavailable } from "../database.js";
import type { Acceptance, Applicant } from "./applicant.js";
import { CompetitorGoneError } from "./competitors.js";

/** One durable write for all of these; one answer each, in order. */
export type Accept = (applicants: readonly Applicant[]) => Promise<Acceptance[]>;

interface Waiting {
  readonly applicants: readonly Applicant[];
  readonly resolve: (acceptances: Acceptance[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes at once. A second one fills the time in which the first waits for the disk. */
const WRITES = 2;
/** Applicants in one write of several requests. */
const MOST = 500;
const TRIES = 3;

/**
 * Lets the requests that come while others are being written share the next write: a durable write costs about
 * the same for one submission as for a hundred. Nobody waits for company: what comes when none is written is
 * written at once.
 * @param most writes that may be under way at once.
 */
export function groupAccepts(accept: Accept, most = WRITES): Accept {
  const waiting: Waiting[] = [];
  let writes = 0;
  const proceed = () => {
    while (writes < most && waiting.length > 0) {
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

/** As many requests as make one write; at least one. */
function nextGroup(waiting: Waiting[]): Waiting[] {
  let size = 0;
  const end = waiting.findIndex(({ applicants }, i) => {
    size += applicants.length;
    return i > 0 && size > MOST;
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** Settles every request of the group. Never throws. */
async function write(group: readonly Waiting[], accept: Accept): Promise<void> {
  try {
    const acceptances = await accept(group.flatMap(({ applicants }) => applicants));
    let from = 0;
    for (const { applicants, resolve } of group) {
      resolve(acceptances.slice(from, from + applicants.length));
      from += applicants.length;
    }
  } catch (error) {
    // A store that is away is so for everybody; any other failure must not be everybody's.
    for (const request of group) {
      if (isStoreUnavailable(error)) request.reject(error);
      else await writeAlone(request, accept);
    }
  }
}

/** A rival that fails between the write and the look at it makes way: then the write is done again. */
async function writeAlone({ applicants, resolve, reject }: Waiting, accept: Accept): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return resolve(await accept(applicants));
    } catch (error) {
      if (!(error instanceof CompetitorGoneError) || tries === TRIES) return reject(error);
    }
  }
}
