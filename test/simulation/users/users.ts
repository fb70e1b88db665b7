import type { Hex, ResultLine } from "@gas-waiver/protocol";
import { hashOf, innerOf, userAddress } from "../../../packages/server/test/support/user.js";
import { SeededRandom } from "../../support/seededRandom.js";
import type { WorldClock } from "../worldClock.js";
import type { UserSubmission } from "./submission.js";

/** A replica as users meet it. */
export interface Service {
  readonly name: string;
  /** Whether it serves requests. A frozen one takes them, and says nothing. */
  isServing(): boolean;
  /** Another number after each start. */
  life(): number;
  /** @throws the refusal of the whole request. */
  submit(user: number, raw: Hex, wait: UserSubmission["wait"]): Promise<AsyncIterable<readonly ResultLine[]>>;
}

export interface UsersOptions {
  readonly seed: number;
  readonly clock: WorldClock;
  readonly services: readonly Service[];
  readonly users: number;
  /** Submissions of each user. */
  readonly submissions: number;
  /** The time over which a user spreads the submissions, in ms. */
  readonly spreadMs: number;
  readonly onSubmitted: (submission: UserSubmission) => void;
  readonly onLine: (submission: UserSubmission) => void;
  readonly note: (line: string) => void;
}

/** After this time without a line, a user looks whether the replica is still there, in ms. */
const PATIENCE_MS = 2_000;
/** The pause before a request that was refused whole is repeated, in ms. */
const REPEAT_MS = 500;

/** Users who keep sending their next nonces, whatever became of the earlier ones, and ask another replica where theirs is away. */
export class Users {
  readonly submissions: UserSubmission[] = [];
  readonly #options: UsersOptions;
  readonly #random: SeededRandom;

  constructor(options: UsersOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed, "users");
  }

  get areDone(): boolean {
    return this.submissions.length === this.#options.users * this.#options.submissions;
  }

  /** Schedules all submissions. */
  begin(): void {
    const { users, submissions, spreadMs, clock } = this.#options;
    for (let user = 1; user <= users; user++) {
      // Each user has draws of its own, so that fewer users leave the others as they were.
      const random = new SeededRandom(this.#options.seed, `user ${user}`);
      const wait = random.chance(0.4) ? "included" : "broadcast";
      const isBursty = random.chance(0.2);
      const start = random.next() * (submissions - 1);
      for (let nonce = 0; nonce < submissions; nonce++) {
        const slot = isBursty ? start + nonce * 0.02 : nonce + random.next();
        clock.after(500 + (slot * spreadMs) / submissions, () => this.#begin(user, nonce, wait));
      }
    }
  }

  #begin(user: number, nonce: number, wait: UserSubmission["wait"]): void {
    const { clock, onSubmitted } = this.#options;
    const raw = rawOf(user, nonce);
    const submission: UserSubmission = {
      ...{ user, sender: addressOf(user), nonce, raw, innerHash: hashOf(raw), wait, triedAt: clock.now() },
      ...{ lines: [], refusals: [], asked: "" },
    };
    this.submissions.push(submission);
    onSubmitted(submission);
    this.#ask(submission);
  }

  #ask(submission: UserSubmission): void {
    const { clock, services } = this.#options;
    const serving = services.filter((one) => one.isServing());
    const others = serving.filter(({ name }) => name !== submission.asked);
    const candidates = others.length > 0 && submission.asked !== "" ? others : serving;
    if (candidates.length === 0) {
      clock.after(REPEAT_MS, () => this.#ask(submission));
      return;
    }
    const service = this.#random.pick(candidates);
    submission.asked = service.name;
    void this.#follow(submission, service);
    this.#watch(submission, service, service.life());
  }

  /** Asks again where the replica has gone away without a line, and with it the connection. */
  #watch(submission: UserSubmission, service: Service, life: number): void {
    this.#options.clock.after(PATIENCE_MS, () => {
      if (submission.lines.length > 0 || submission.asked !== service.name) return;
      if (service.isServing() && service.life() === life) this.#watch(submission, service, life);
      else this.#ask(submission);
    });
  }

  async #follow(submission: UserSubmission, service: Service): Promise<void> {
    const { clock, note, onLine } = this.#options;
    try {
      const lines = await service.submit(submission.user, submission.raw, submission.wait);
      submission.acceptedAt ??= clock.now();
      for await (const group of lines)
        for (const line of group) {
          submission.lines.push(told(line, clock.now(), service.name));
          note(`line ${submission.user}/${submission.nonce} ${JSON.stringify(line)}`);
          onLine(submission);
          if (!line.success && line.error.reason === "NONCE_GAP") this.#repeat(submission);
        }
    } catch (error) {
      const { message } = error as Error;
      submission.refusals.push({ at: clock.now(), message });
      note(`refusal ${submission.user}/${submission.nonce} ${message}`);
      clock.after(REPEAT_MS, () => this.#ask(submission));
    }
  }

  /** The sender's earlier transaction did not come in time: the user tries again. */
  #repeat(submission: UserSubmission): void {
    const { clock } = this.#options;
    clock.after(2 * REPEAT_MS, () => {
      submission.triedAt = clock.now();
      this.#ask(submission);
    });
  }
}

function told(line: ResultLine, at: number, replica: string) {
  const error = line.success ? undefined : line.error;
  return {
    ...{ at, replica, success: line.success },
    ...{ code: error?.code, reason: error?.reason, message: error?.message },
  };
}

// Each signature takes a good part of a ms, and each world has the same users.
const raws = new Map<string, Hex>();
const addresses = new Map<number, Hex>();

function rawOf(user: number, nonce: number): Hex {
  const name = `${user} ${nonce}`;
  const raw = raws.get(name) ?? innerOf(user, nonce);
  raws.set(name, raw);
  return raw;
}

export function addressOf(user: number): Hex {
  const address = addresses.get(user) ?? userAddress(user);
  addresses.set(user, address);
  return address;
}
