import { type AllowedTarget, bytesEqual, checksumAddress, encodeCall } from "@gas-waiver/protocol";
import type { LaneAdmin, LaneStatus } from "@gas-waiver/server";
import { CommandFailedError } from "../errorMessage.js";
import { TARGETS } from "../governance/allow.js";
import type { Decision, DecisionMaker } from "../governance/decision.js";
import type { Proposal } from "../governance/proposal.js";

/**
 * The steps of a rotation, in their order. Nothing remembers them: which one is next follows from what the chain and the
 * service say, so a rotation that was interrupted goes on where it was.
 *
 * - `register`: governance registers the new waiver, with the targets of the old one.
 * - `open`: every replica that has the old key reads the new one, and the lane of the new waiver takes work.
 * - `drain`: the lane of the old waiver takes nothing new, and is retired when its last wrapper is in a final block.
 * - `revoke`: governance revokes the old waiver.
 */
export const ROTATION_STEPS = ["register", "open", "drain", "revoke"] as const;
export type RotationStep = (typeof ROTATION_STEPS)[number];

/** The two waivers, 20 bytes each. */
export interface Rotation {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** One of the two waivers, as the chain and the service say. */
export interface WaiverView {
  /** The targets by the registry; undefined if it is not registered. */
  readonly targets: readonly AllowedTarget[] | undefined;
  readonly lane: LaneStatus | undefined;
}

export interface RotationView {
  readonly old: WaiverView;
  readonly next: WaiverView;
  /** The replicas that are alive and have one of the two keys. */
  readonly replicas: number;
  /** Those of them that have the new key. */
  readonly replicasWithKey: number;
}

export interface RotationParties {
  readonly lanes: LaneAdmin;
  readonly governance: DecisionMaker;
}

/** Reads how far the rotation is. */
export async function viewRotation(
  { from, to }: Rotation,
  { lanes, governance }: RotationParties,
): Promise<RotationView> {
  const waivers = await governance.registry.waivers();
  const statuses = await lanes.list();
  const replicas = await lanes.replicas();
  const view = (waiver: Uint8Array): WaiverView => ({
    targets: waivers.find(({ address }) => bytesEqual(address, waiver))?.targets,
    lane: statuses.find((lane) => bytesEqual(lane.waiver, waiver)),
  });
  const has = (waiver: Uint8Array) => (replica: (typeof replicas)[number]) =>
    replica.waivers.some((one) => bytesEqual(one, waiver));
  const concerned = replicas.filter((replica) => has(from)(replica) || has(to)(replica));
  return {
    old: view(from),
    next: view(to),
    replicas: concerned.length,
    replicasWithKey: concerned.filter(has(to)).length,
  };
}

/** Returns the step that is next; undefined if the rotation is complete. */
export function nextStep({ old, next, replicas, replicasWithKey }: RotationView): RotationStep | undefined {
  if (next.targets === undefined) return "register";
  const isWorking = next.lane?.owner !== undefined && !next.lane.broken && next.lane.wait?.cause !== "policy";
  const takesWork = next.lane?.state === "open" && isWorking;
  const isDrained = old.lane === undefined || old.lane.state === "retired";
  // A lane that has trouble later holds up the drain, and not the revocation of a waiver whose lane is retired.
  if (!isDrained && (!takesWork || replicas === 0 || replicasWithKey < replicas)) return "open";
  if (!isDrained) return "drain";
  return old.targets === undefined ? undefined : "revoke";
}

/** The decision of governance that a step waits for. */
export function decisionOf(
  step: "register" | "revoke",
  { from, to }: Rotation,
  { old }: RotationView,
): Decision {
  if (step === "revoke") {
    return { kind: "revoke waiver", subject: from, calldata: encodeCall("proposeRevoke(address)", from) };
  }
  if (old.targets === undefined) {
    throw new CommandFailedError(
      `${checksumAddress(from)} is not a registered waiver, so nothing says what ${checksumAddress(to)} is to send; register that one by \`gas-waiver governance propose\` first`,
    );
  }
  return {
    kind: "register waiver",
    subject: to,
    calldata: encodeCall(`proposeRegister(address,${TARGETS})`, to, [...old.targets]),
  };
}

/**
 * Does what can be done for a step now. It may be called again and again.
 * @returns the open proposal that the step waits for, if there is one.
 */
export async function advance(
  step: RotationStep,
  rotation: Rotation,
  view: RotationView,
  { lanes, governance }: RotationParties,
): Promise<Proposal | undefined> {
  switch (step) {
    case "register":
    case "revoke":
      return await governance.advance(decisionOf(step, rotation, view));
    case "open": {
      assertNotStopped(view.next.lane);
      if (view.replicasWithKey < view.replicas) await lanes.reload();
      const isOpen = view.next.lane === undefined || view.next.lane.state === "open";
      if (!isOpen) await lanes.set(rotation.to, "open", "by a rotation");
      return undefined;
    }
    case "drain":
      assertNotStopped(view.old.lane);
      if (view.old.lane?.state === "open") await lanes.set(rotation.from, "draining", "by a rotation");
      return undefined;
  }
}

/** A lane stops for a cause that an operator must see first. */
function assertNotStopped(lane: LaneStatus | undefined): void {
  if (lane?.state !== "stopped") return;
  throw new CommandFailedError(
    `the lane of ${checksumAddress(lane.waiver)} is stopped: ${lane.reason ?? "by an operator"}; open it first (\`gas-waiver lanes open\`)`,
  );
}
