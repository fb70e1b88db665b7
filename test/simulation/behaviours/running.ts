import { SeededRandom } from "../../support/seededRandom.js";
import { type Behaviour, isActive } from "./behaviour.js";

/** A behaviour with the stream of its draws. */
export interface Running {
  readonly behaviour: Behaviour;
  readonly random: SeededRandom;
}

export function startBehaviours(seed: number, behaviours: readonly Behaviour[]): Running[] {
  return behaviours.map((behaviour) => ({ behaviour, random: new SeededRandom(seed, behaviour.name) }));
}

/** Whether the behaviour strikes at this occasion, which its subject fits. */
export function strikes({ behaviour, random }: Running, now: number): boolean {
  return isActive(behaviour, now) && (behaviour.share >= 1 || random.chance(behaviour.share));
}
