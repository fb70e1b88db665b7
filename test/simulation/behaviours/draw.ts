import { SeededRandom } from "../../support/seededRandom.js";
import { type Behaviour, type Deed, isCall, isHost, isTransport, type Subject } from "./behaviour.js";
import {
  drawCall,
  drawChainDeed,
  drawHostDeed,
  drawPruned,
  drawSendersDeed,
  drawTransport,
} from "./drawDeeds.js";
import { drawEndpoint, drawPlace, drawSender, drawSubject } from "./drawSubject.js";
import { calmAfter, type Frame, namedSenders } from "./frame.js";

const FAMILIES = ["transport", "call", "sender", "chain", "host"] as const;
type Family = (typeof FAMILIES)[number];

/** The numbers of behaviours. Where one more takes nothing from what has to stay honest, there are more. */
const COUNTS: Readonly<Record<Frame["honest"], readonly number[]>> = {
  "most senders": [1, 2, 2, 3, 3, 4, 5],
  "an endpoint": [1, 1, 2, 2, 3, 4],
  "the end": [1, 1, 1, 2, 2, 3],
  nothing: [1, 1, 2, 3],
};
const FAREWELL = ", farewell";

/** How often each family is drawn, by the part of the world that stays honest. */
const WEIGHTS: Readonly<Record<Frame["honest"], Readonly<Record<Family, number>>>> = {
  "most senders": { transport: 3, call: 3, sender: 4, chain: 0, host: 0 },
  "an endpoint": { transport: 4, call: 5, sender: 2, chain: 0, host: 1 },
  "the end": { transport: 3, call: 3, sender: 1, chain: 2, host: 5 },
  nothing: { transport: 3, call: 5, sender: 1, chain: 1, host: 2 },
};

/** Draws the behaviours of a world. Each has streams of its own, by its name. */
export function drawBehaviours(seed: number, frame: Frame): Behaviour[] {
  const random = new SeededRandom(seed, "number of behaviours");
  const count = random.pick(COUNTS[frame.honest]);
  const drawn = Array.from({ length: count }, (_, i) =>
    drawBehaviour(seed, `behaviour ${i + 1}`, frame),
  ).flat();
  return drawn.filter(
    (one, i) => !isFarewell(one) || drawn.findIndex((other) => isSameFarewell(one, other)) === i,
  );
}

const isFarewell = ({ name }: Behaviour) => name.endsWith(FAREWELL);

/** An endpoint goes away for good once at most. */
function isSameFarewell(one: Behaviour, other: Behaviour): boolean {
  return isFarewell(other) && one.subject.endpoint === other.subject.endpoint;
}

function drawBehaviour(seed: number, name: string, frame: Frame): Behaviour[] {
  const random = new SeededRandom(seed, `plan of ${name}`);
  const { subject, does } = drawDeed(random, frame);
  const from = random.between(0, frame.busyMs / 2);
  const to = drawEnd(random, from, does, frame);
  const share = random.chance(0.6) ? 1 : 0.1 + 0.8 * random.next();
  const behaviour: Behaviour = { name, from, to, share, subject, does };
  return [
    behaviour,
    ...drawCompanion(random, behaviour),
    ...drawCrowd(random, behaviour, frame),
    ...drawFarewell(random, behaviour, frame),
  ];
}

/** The same subject misbehaves in a second way, now and then, during the same time. */
function drawCompanion(random: SeededRandom, { name, subject, does, from, to }: Behaviour): Behaviour[] {
  if (!(isTransport(does) || isCall(does)) || !random.chance(0.3)) return [];
  const isOfList = subject.moreThan !== undefined || subject.unknown === true;
  const second = isOfList || random.chance(0.5) ? drawTransport(random, subject) : drawCall(random, subject);
  return [{ name: `${name}, companion`, from, to, share: random.pick([0.3, 0.5, 1]), subject, does: second }];
}

/** Other senders meet, or do, the same. */
function drawCrowd(random: SeededRandom, { name, subject, ...rest }: Behaviour, frame: Frame): Behaviour[] {
  const { sender } = subject;
  if (sender === undefined || !random.chance(0.3)) return [];
  const others = namedSenders(frame).filter((one) => one !== sender);
  return others.map((one) => ({
    name: `${name} of user ${one}`,
    ...rest,
    subject: { ...subject, sender: one },
  }));
}

function drawDeed(random: SeededRandom, frame: Frame): { readonly subject: Subject; readonly does: Deed } {
  switch (drawFamily(random, frame)) {
    case "transport": {
      const subject = drawSubject(random, frame);
      return { subject, does: drawTransport(random, subject) };
    }
    case "call": {
      // Nodes that keep little history are as good as others.
      if (frame.honest === "most senders" && random.chance(0.2))
        return { subject: drawPlace(random, frame), does: drawPruned(random) };
      const subject = drawSubject(random, frame);
      // A node's calls know nothing of the list that they come in.
      const isOfList = subject.moreThan !== undefined;
      return { subject, does: isOfList ? drawTransport(random, subject) : drawCall(random, subject) };
    }
    case "sender":
      return { subject: drawSender(random, frame), does: drawSendersDeed(random) };
    case "chain": {
      const does = drawChainDeed(random, frame);
      const endpoint =
        does.deed === "forget" || does.deed === "evict" ? drawEndpoint(random, frame) : undefined;
      return { subject: endpoint === undefined ? {} : { endpoint }, does };
    }
    case "host":
      return { subject: {}, does: drawHostDeed(random, frame) };
  }
}

function drawFamily(random: SeededRandom, { honest }: Frame): Family {
  const weights = WEIGHTS[honest];
  return random.pick(FAMILIES.flatMap((family) => Array<Family>(weights[family]).fill(family)));
}

/** The end of a behaviour: after a moment, after a while, or never. */
function drawEnd(random: SeededRandom, from: number, does: Deed, frame: Frame): number | null {
  const { honest, replicas, busyMs } = frame;
  const lasts = random.next();
  const lengthMs = lasts < 0.25 ? random.between(50, 1_500) : random.between(2_000, busyMs - 3_000);
  const end = Math.min(calmAfter(frame), from + lengthMs);
  const mayLast =
    !isHost(does) ||
    does.deed.includes("clock step") ||
    (["kill", "leave"].includes(does.deed) && replicas > 1);
  const forGood = honest === "most senders" ? 0.35 : 0.5;
  return lasts > forGood && honest !== "the end" && mayLast && does.deed !== "halt" ? null : end;
}

/** An endpoint that misbehaved may be gone for good afterwards. */
function drawFarewell(
  random: SeededRandom,
  { name, to, subject }: Behaviour,
  { endpoints, honest }: Frame,
): Behaviour[] {
  if (to === null || subject.endpoint === undefined || endpoints < 2 || honest === "the end") return [];
  if (!random.chance(0.5)) return [];
  const does = { deed: "no connection", code: "ECONNREFUSED" } as const;
  return [
    {
      name: name + FAREWELL,
      from: to,
      to: null,
      share: 1,
      subject: { endpoint: subject.endpoint },
      does,
    },
  ];
}
