import type { World } from "./world.js";

/** A trouble of the night. */
export interface Trouble {
  readonly text: string;
  /** The text that names it, in a line of the log, of the metrics, or of readiness. */
  readonly signal: Pick<RegExp, "test">;
  /** The alarms of which one has to come; none where the trouble passes by itself before anybody could do something. */
  readonly alarms: readonly string[];
  /** The step that its runbook says to type. */
  readonly remedy: string;
  /** Why it cannot be had on this machine. */
  skip?(): string | undefined;
  /** Called under load, before the trouble. */
  prepare?(world: World): Promise<void>;
  begin(world: World): unknown;
  /** @param signal the text that named the trouble first. */
  end(world: World, signal: string): unknown;
}

export type Troubles = Readonly<Record<string, Trouble>>;

export const succeeds = (promise: Promise<unknown>) =>
  promise.then(
    () => true,
    () => false,
  );

/** Changes the state of lanes. */
export const lanes = (
  { gasWaiver, waivers }: World,
  action: "open" | "stop",
  ...places: readonly (0 | 1)[]
) => Promise.all(places.map((place) => gasWaiver("lanes", action, "--waiver", waivers[place])));
