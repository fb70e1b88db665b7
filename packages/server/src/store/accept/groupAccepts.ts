import { bytesToHex } from "@gas-waiver/protocol";
import { FairQueue } from "../../util/fairQueue.js";
import { isStoreUnavailable } from "../database/storeTrouble.js";
import { CompetitorGoneError } from "./accept.js";
import { type Acceptance, keyIdOf, type NewSubmission } from "./newSubmission.js";

/** Accepts all new submissions of a request in one durable write. One answer for each, in their order. */
export type Accept = (newSubmissions: readonly NewSubmission[]) => Promise<Acceptance[]>;

/** {@link Accept} for a group of requests. `isRepeated`: an earlier write may have accepted some of them. */
export type AcceptWrite = (
  newSubmissions: readonly NewSubmission[],
  isRepeated: boolean,
) => Promise<Acceptance[]>;

interface WaitingRequest {
  readonly newSubmissions: readonly NewSubmission[];
  readonly resolve: (acceptances: Acceptance[]) => void;
  readonly reject: (error: unknown) => void;
}

/** A second concurrent write uses the time in which a large first one works, and in which it waits for the disk. */
const CONCURRENT_WRITES_OF_KEY = 2;
/**
 * A write of at most this many new submissions is short. What the same key submits meanwhile shares the next write, which
 * saves more processor time than the wait costs.
 */
const SHORT_WRITE = 16;
/** While one key floods the service, the others find a further write free. */
const CONCURRENT_WRITES = 3;
/** A write of several requests has at most this many new submissions. A larger one would save little time for each. */
const MAX_NEW_SUBMISSIONS = 100;
const MAX_ATTEMPTS = 3;

interface RunningWrite {
  readonly keys: ReadonlySet<string>;
  /** The number of its new submissions. */
  readonly size: number;
}

/** The writes that may run at the same time: in all, and with submissions of one API key. */
interface Concurrency {
  readonly writes: number;
  readonly writesOfKey: number;
}

/**
 * Groups requests that wait for a write into the next one: a durable write costs about the same for one submission as for
 * a hundred. A request is written at once if fewer writes run than may, in all and of its key, and none of its key is
 * short. The API keys take turns, and so do the senders of a key.
 */
export function groupAccepts(
  accept: AcceptWrite,
  { writes, writesOfKey }: Concurrency = { writes: CONCURRENT_WRITES, writesOfKey: CONCURRENT_WRITES_OF_KEY },
): Accept {
  const waiting = new FairQueue<WaitingRequest>();
  const running = new Set<RunningWrite>();
  const mayWrite = (key: string) => {
    const ofKey = [...running].filter(({ keys }) => keys.has(key));
    return ofKey.length < writesOfKey && ofKey.every(({ size }) => size > SHORT_WRITE);
  };
  const proceed = () => {
    while (running.size < writes) {
      const group = nextGroup(waiting, mayWrite);
      if (group.length === 0) return;
      const size = group.reduce((sum, { newSubmissions }) => sum + newSubmissions.length, 0);
      const one = { keys: new Set(group.map(keyIdOf)), size };
      running.add(one);
      write(group, accept).finally(() => {
        running.delete(one);
        proceed();
      });
    }
  };
  return (newSubmissions) => {
    const [first] = newSubmissions;
    if (first === undefined) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      waiting.add([first.keyId, bytesToHex(first.sender)], { newSubmissions, resolve, reject });
      proceed();
    });
  };
}

/** Takes the requests of the next write: at least one, and no more new submissions than one write may have. */
function nextGroup(waiting: FairQueue<WaitingRequest>, mayWrite: (key: string) => boolean): WaitingRequest[] {
  const group: WaitingRequest[] = [];
  let size = 0;
  const fits = (request: WaitingRequest) =>
    mayWrite(keyIdOf(request)) && (size === 0 || size + request.newSubmissions.length <= MAX_NEW_SUBMISSIONS);
  for (let next = waiting.take(fits); next !== undefined; next = waiting.take(fits)) {
    group.push(next);
    size += next.newSubmissions.length;
  }
  return group;
}

/** Writes a group, and settles the promise of each of its requests. Never throws. */
async function write(group: readonly WaitingRequest[], accept: AcceptWrite): Promise<void> {
  try {
    const acceptances = await accept(
      group.flatMap(({ newSubmissions }) => newSubmissions),
      false,
    );
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
  accept: AcceptWrite,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return resolve(await accept(newSubmissions, true));
    } catch (error) {
      if (!(error instanceof CompetitorGoneError) || attempt === MAX_ATTEMPTS) return reject(error);
    }
  }
}
