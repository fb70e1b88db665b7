import type { SendVerdictKind } from "@gas-waiver/protocol";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { Evidence } from "../law/law.js";

/** A wrapper that was sent, and what the node's answer means. */
export interface AnsweredBroadcast {
  readonly submission: InFlightSubmission;
  readonly answer: NonNullable<Evidence["answer"]>;
}

export function kindOf({ answer }: AnsweredBroadcast): SendVerdictKind {
  return answer.verdict.kind;
}

export function submissionOf({ submission }: AnsweredBroadcast): InFlightSubmission {
  return submission;
}
