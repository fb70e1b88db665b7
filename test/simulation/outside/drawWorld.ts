import type { ServerOptions } from "../../../packages/server/src/index.js";
import { PERSONALITIES } from "../../nodeZoo/personalities.js";
import { SeededRandom } from "../../support/seededRandom.js";
import { drawBehaviours } from "../behaviours/draw.js";
import type { Frame, HonestPart } from "../behaviours/frame.js";
import { POOL_KINDS } from "../nodes/pool.js";
import type { WorldPlan } from "../world.js";

/** The longest time of a world, in virtual ms: trouble that ends at 22 s has to be made good by 52 s and ten blocks. */
const LENGTH_MS = 66_000;

/** Draws the world of a seed. */
export function drawWorld(seed: number): WorldPlan {
  const random = new SeededRandom(seed, "world");
  const replicas = random.pick([1, 1, 1, 1, 1, 1, 1, 2, 2, 3]);
  const endpoints = random.pick([1, 1, 1, 1, 2, 2, 2, 2, 2, 3]);
  const keys = random.pick([1, 1, 1, 1, 2, 2, 2, 3]);
  const senders = random.between(3, 8);
  const submissions = random.between(3, 8);
  const reorgDepth = random.pick([0, 0, 0, 2]);
  const honest = drawHonestPart(random, endpoints);
  const honestEndpoint = random.between(0, endpoints - 1);
  const frame: Frame = {
    ...{ replicas, endpoints, keys, senders, submissions, reorgDepth, honest, honestEndpoint },
  };
  const shape = { pool: random.pick(POOL_KINDS), blockMs: random.pick([500, 500, 700, 1_000]) };
  return {
    ...{ seed, replicas, endpoints, keys, senders, submissions, lengthMs: LENGTH_MS },
    settings: { ...drawSettings(random), reorgDepth },
    chain: {
      ...shape,
      personalities: Array.from({ length: endpoints }, () => random.pick(PERSONALITIES).name),
    },
    behaviours: drawBehaviours(seed, frame),
  };
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
