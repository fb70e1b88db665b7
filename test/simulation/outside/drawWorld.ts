import type { ServerOptions } from "../../../packages/server/src/index.js";
import { PERSONALITIES } from "../../nodeZoo/personalities.js";
import { SeededRandom } from "../../support/seededRandom.js";
import { type Behaviour, closesLane, type LaneDeed } from "../behaviours/behaviour.js";
import { drawBehaviours } from "../behaviours/draw.js";
import { drawEndpoint } from "../behaviours/drawSubject.js";
import { calmAfter, type Frame, type HonestPart } from "../behaviours/frame.js";
import { RESTORED_MS } from "../laws/trouble.js";
import { POOL_KINDS } from "../nodes/pool.js";
import { isRestored, type WorldPlan } from "../world.js";

/** The times over which users spread their submissions, in virtual ms. Most worlds are short: luck finds more in many than in long ones. */
const BUSY_MS = [6_000, 6_000, 6_000, 10_000, 10_000, 24_000] as const;
/** A world goes on for so long after its busy time at most, in virtual ms: trouble is made good within 30 s and ten blocks. */
const REST_MS = 42_000;

/** Draws the world of a seed. */
export function drawWorld(seed: number): WorldPlan {
  const random = new SeededRandom(seed, "world");
  const replicas = random.pick([1, 1, 1, 1, 1, 1, 1, 2, 2, 3]);
  const endpoints = random.pick([1, 1, 1, 1, 2, 2, 2, 2, 2, 3]);
  const keys = random.pick([1, 1, 1, 1, 2, 2, 2, 3]);
  const senders = random.between(3, 8);
  const submissions = random.between(3, 8);
  const busyMs = random.pick(BUSY_MS);
  const reorgDepth = random.pick([0, 0, 0, 2]);
  const honest = drawHonestPart(random, endpoints);
  const honestEndpoint = random.between(0, endpoints - 1);
  const frame: Frame = {
    ...{ replicas, endpoints, keys, senders, submissions, busyMs, reorgDepth, honest, honestEndpoint },
  };
  const shape = { pool: random.pick(POOL_KINDS), blockMs: random.pick([500, 500, 700, 1_000]) };
  const isGoverned = new SeededRandom(seed, "registry").chance(0.25);
  const settings: Partial<ServerOptions> = {
    ...{ ...drawSettings(random), reorgDepth },
    ...(isGoverned && { policySource: "registry" }),
  };
  const behaviours = [
    ...drawBehaviours(seed, frame),
    ...(isGoverned ? drawRevocation(seed, frame) : drawOperator(seed, frame)),
    ...drawLoadBalancer(seed, frame),
  ];
  // After a restore come as many senders more, of whose nonces the chain has lost none.
  const isLong = isRestored({ behaviours, settings });
  const spreadMs = isLong ? busyMs + RESTORED_MS : busyMs;
  return {
    ...{ seed, replicas, endpoints, keys, submissions, settings },
    ...{ senders: isLong ? 2 * senders : senders, busyMs: spreadMs, lengthMs: spreadMs + REST_MS },
    chain: {
      ...shape,
      personalities: Array.from({ length: endpoints }, () => random.pick(PERSONALITIES).name),
    },
    behaviours,
  };
}

/** Governance revokes waivers, and may register them again. */
function drawRevocation(seed: number, frame: Frame): Behaviour[] {
  const random = new SeededRandom(seed, "revocation");
  if (random.chance(0.3)) return [];
  const first = drawClosing(random, "revocation", ["revoke"], frame);
  return [first, ...drawSecondClosing(seed, first, ["revoke"], frame)];
}

/** An operator drains or stops a lane, and may open it again. */
function drawOperator(seed: number, frame: Frame): Behaviour[] {
  const random = new SeededRandom(seed, "operator");
  const deeds = ["drain lane", "drain lane", "stop lane"] as const;
  if (random.chance(0.8)) return [];
  const first = drawClosing(random, "operator", deeds, frame);
  return [first, ...drawSecondClosing(seed, first, deeds, frame)];
}

/** Another lane is closed at about the same time: of two lanes, none may be left. */
function drawSecondClosing(
  seed: number,
  { name, does: first }: Behaviour,
  deeds: readonly LaneDeed["deed"][],
  frame: Frame,
): Behaviour[] {
  const random = new SeededRandom(seed, `second ${name}`);
  if (frame.keys === 1 || random.chance(0.6)) return [];
  const { does, ...second } = drawClosing(random, `second ${name}`, deeds, frame);
  const waiver = closesLane(first) ? (first.waiver + 1) % frame.keys : 0;
  return [{ ...second, does: { ...does, waiver } }];
}

/** A load balancer stands before the nodes of an endpoint, or of all. */
function drawLoadBalancer(seed: number, frame: Frame): Behaviour[] {
  const random = new SeededRandom(seed, "load balancer");
  if (frame.endpoints === 1 || frame.honest === "most senders" || random.chance(0.8)) return [];
  const endpoint = drawEndpoint(random, frame);
  return [
    {
      ...{ name: "load balancer", from: random.between(0, frame.busyMs / 2), share: random.pick([0.3, 0.5]) },
      to: frame.honest === "the end" ? calmAfter(frame) : null,
      subject: endpoint === undefined ? {} : { endpoint },
      does: { deed: "another node" },
    },
  ];
}

function drawClosing(
  random: SeededRandom,
  name: string,
  deeds: readonly LaneDeed["deed"][],
  { busyMs, honest, keys }: Frame,
): Behaviour & { readonly does: LaneDeed } {
  const from = random.between(0, busyMs / 2);
  const end = Math.min(calmAfter({ busyMs }), from + random.between(500, busyMs));
  const to = honest === "the end" || random.chance(0.5) ? end : null;
  const does = { deed: random.pick(deeds), waiver: random.between(0, keys - 1) };
  return { name, from, to, share: 1, subject: {}, does };
}

function drawHonestPart(random: SeededRandom, endpoints: number): HonestPart {
  const part = random.pick<HonestPart>([
    ...([
      "most senders",
      "most senders",
      "most senders",
      "an endpoint",
      "an endpoint",
      "an endpoint",
    ] as const),
    ...(["the end", "the end", "the end", "nothing", "nothing"] as const),
  ]);
  return part === "an endpoint" && endpoints === 1 ? "most senders" : part;
}

function drawSettings(random: SeededRandom): Partial<ServerOptions> {
  return {
    maxInFlight: random.pick([1_000, 1_000, 1_000, 20, 4]),
    maxQueueMs: random.pick([600_000, 600_000, 600_000, 60_000, 20_000]),
  };
}
