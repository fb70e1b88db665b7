import { type Behaviour, closesLane } from "../behaviours/behaviour.js";
import { endOfTrouble, troubleOf, type WorldShape } from "./trouble.js";

interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Knows since when whose own part of the world is honest. The promise of liveness holds for a submission
 *
 * - whose sender no behaviour names, ever;
 * - while no behaviour strikes everybody: the chain, the database, all replicas, or a whole method of all endpoints;
 * - while at least one lane is open, and one endpoint is free of behaviours that strike all of it, or a whole method of it.
 *
 * No excuse: a behaviour of another sender, nonce or wrapper, for good and at every endpoint; lists that are too long; look-ups of
 * what no node has; pruned history; one block that nobody shows; block times.
 */
export class Honesty {
  readonly #senders: ReadonlySet<number>;
  readonly #troubled: readonly Span[];
  /** The time that slow answers take, at the slowest endpoint, in ms: a client cannot know that they will come sooner elsewhere. */
  readonly slownessMs: number;
  /** A failover of the database loses what was accepted before this moment, in ms. */
  readonly lossUntil: number;

  constructor(behaviours: readonly Behaviour[], shape: WorldShape) {
    const { endpoints } = shape;
    const troubles = behaviours.map((behaviour) => ({
      trouble: troubleOf(behaviour),
      span: { from: behaviour.from, to: endOfTrouble(behaviour, shape) },
    }));
    this.#senders = new Set(
      troubles.flatMap(({ trouble }) => (trouble.of === "sender" ? [trouble.user] : [])),
    );
    const everybody = troubles.filter(({ trouble }) => trouble.of === "everybody").map(({ span }) => span);
    const each = Array.from({ length: endpoints }, (_, place) =>
      troubles
        .filter(({ trouble }) => trouble.of === "endpoint" && trouble.place === place)
        .map(({ span }) => span),
    );
    const delays = behaviours.flatMap(({ subject, does }) =>
      does.deed === "slow" && subject.sender === undefined ? does.ms : [],
    );
    const closings = Array.from({ length: shape.keys }, (_, waiver) =>
      behaviours
        .filter(({ does }) => closesLane(does) && does.waiver === waiver)
        .map(({ from, to }) => ({ from, to: to ?? Number.POSITIVE_INFINITY })),
    );
    this.slownessMs = Math.max(0, ...delays);
    const failovers = behaviours.filter(({ does }) => does.deed === "failover");
    this.lossUntil = Math.max(0, ...failovers.map(({ to, from }) => to ?? from));
    this.#troubled = [...everybody, ...each.reduce(intersections), ...closings.reduce(intersections)];
  }

  isHonest(user: number): boolean {
    return !this.#senders.has(user);
  }

  /** Whether no behaviour strikes more than senders: then nothing but a sender's own trouble may cost time. */
  get isUndisturbed(): boolean {
    return this.#troubled.length === 0;
  }

  /** Whether the world will never be honest any more. */
  isLost(now: number): boolean {
    return this.#troubled.some(({ from, to }) => from <= now && to === Number.POSITIVE_INFINITY);
  }

  /** The time since which the world is honest for those whom no behaviour names; undefined while it is not. */
  honestSince(now: number): number | undefined {
    let since = Number.NEGATIVE_INFINITY;
    for (const { from, to } of this.#troubled) {
      if (from > now) continue;
      if (to >= now) return undefined;
      since = Math.max(since, to);
    }
    return since;
  }
}

function intersections(some: readonly Span[], others: readonly Span[]): Span[] {
  return some.flatMap((a) =>
    others.flatMap((b) => {
      const both = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
      return both.from <= both.to ? [both] : [];
    }),
  );
}
