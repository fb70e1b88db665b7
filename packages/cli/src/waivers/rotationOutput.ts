import { allowedTargetsToJson, bytesToHex, checksumAddress, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import type { Context } from "../command.js";
import { tally } from "../governance/output.js";
import type { Proposal } from "../governance/proposal.js";
import {
  decisionOf,
  ROTATION_STEPS,
  type Rotation,
  type RotationStep,
  type RotationView,
} from "./rotation.js";

/** Tells how a rotation goes on: a line, or with `json` an object, for each step, and one line that changes on a terminal. */
export class RotationOutput {
  readonly #rotation: Rotation;
  readonly #json: boolean;
  readonly #context: Context;
  #step: RotationStep | undefined;
  #proposal: bigint | undefined;
  #shown = "";

  constructor(rotation: Rotation, json: boolean, context: Context) {
    this.#rotation = rotation;
    this.#json = json;
    this.#context = context;
  }

  /** Prints that a step begins, once. */
  begin(step: RotationStep, view: RotationView, hasValidator: boolean): void {
    if (step === this.#step) return;
    this.clear();
    this.#step = step;
    this.#proposal = undefined;
    if (this.#json) {
      this.#print({ step });
      return;
    }
    this.#context.print(
      `${ROTATION_STEPS.indexOf(step) + 1} of ${ROTATION_STEPS.length}: ${this.#purposeOf(step)}`,
    );
    if (!hasValidator && (step === "register" || step === "revoke")) this.#printDecision(step, view);
  }

  /** Shows the state of the step. */
  update(view: RotationView, proposal: Proposal | undefined): void {
    if (proposal !== undefined && proposal.id !== this.#proposal) {
      this.clear();
      this.#proposal = proposal.id;
      const { id } = proposal;
      if (this.#json) this.#print({ step: this.#step, proposal: Number(id) });
      else this.#context.print(`   proposal ${id}; vote: gas-waiver governance vote --proposal ${id} --yes`);
    }
    const state = proposal ? `proposal ${proposal.id}: ${tally(proposal)}` : this.#stateOf(view);
    if (state === this.#shown) return;
    this.#shown = state;
    this.#context.progress?.(`   ${state}`);
  }

  complete(): void {
    this.clear();
    const { from, to } = this.#rotation;
    if (this.#json) {
      this.#print({ step: "complete" });
      return;
    }
    this.#context.print(
      `${checksumAddress(to)} has taken the place of ${checksumAddress(from)}, which is revoked`,
    );
    this.#context.print("Take the old key from where the replicas read it, then: gas-waiver waivers reload");
  }

  #purposeOf(step: RotationStep): string {
    const [from, to] = [checksumAddress(this.#rotation.from), checksumAddress(this.#rotation.to)];
    switch (step) {
      case "register":
        return `governance registers ${to} with the targets of ${from}`;
      case "open":
        return `the replicas read the new key, and the lane of ${to} takes work`;
      case "drain":
        return `the lane of ${from} finishes its work`;
      case "revoke":
        return `governance revokes ${from}`;
    }
  }

  #stateOf({ old, next, replicas, replicasWithKey }: RotationView): string {
    switch (this.#step) {
      case "open":
        if (replicas === 0) return "no replica that is alive has the old key or the new one";
        return replicasWithKey < replicas
          ? `${replicasWithKey} of ${replicas} replica(s) have the new key; put it where the others read theirs`
          : `the lane is ${next.lane?.owner === undefined ? "not worked by a replica yet" : "about to take work"}`;
      case "drain":
        if (old.lane?.owner === undefined) return "no replica works the lane: start one that has the old key";
        return old.lane?.hasUnfinalized && old.lane.queued + old.lane.inFlight === 0
          ? "everything is in a block; waiting for those to be final"
          : `${old.lane?.queued ?? 0} queued, ${old.lane?.inFlight ?? 0} signed or broadcast`;
      default:
        return "waiting for a proposal";
    }
  }

  #printDecision(step: "register" | "revoke", view: RotationView): void {
    const { calldata } = decisionOf(step, this.#rotation, view);
    const { print } = this.#context;
    if (step === "register") {
      print(
        `   a validator proposes it: gas-waiver governance propose --register ${checksumAddress(this.#rotation.to)} --targets FILE`,
      );
      print(`   FILE: ${JSON.stringify(allowedTargetsToJson(view.old.targets ?? []))}`);
    } else
      print(
        `   a validator proposes it: gas-waiver governance propose --revoke ${checksumAddress(this.#rotation.from)}`,
      );
    print(`   or sends this call to ${bytesToHex(REGISTRY_ADDRESS)}: ${bytesToHex(calldata)}`);
  }

  #print(event: object): void {
    const { from, to } = this.#rotation;
    this.#context.print(JSON.stringify({ from: checksumAddress(from), to: checksumAddress(to), ...event }));
  }

  /** Removes the line that changes. */
  clear(): void {
    if (this.#shown !== "") this.#context.progress?.("");
    this.#shown = "";
  }
}
