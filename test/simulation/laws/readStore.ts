import { bytesToHex } from "@gas-waiver/protocol";
import { queryNow } from "../engine/driver.js";
import type { SimulatedDatabase } from "../engine/simulatedDatabase.js";
import type { StoredState } from "./record.js";

interface SubmissionRow {
  readonly inner_hash: Buffer;
  readonly state: string;
  readonly waiver: Buffer;
  readonly error_reason: string | null;
  readonly error_message: string | null;
}

interface LaneRow {
  readonly waiver: Buffer;
  readonly state: string;
  readonly reason: string | null;
}

/** Reads the submissions, the oldest first, and the lanes. */
export async function readStore({ control }: Pick<SimulatedDatabase, "control">): Promise<StoredState> {
  const submissions = await queryNow<SubmissionRow>(
    control,
    "select inner_hash, state, waiver, error_reason, error_message from submissions order by id",
  );
  const lanes = await queryNow<LaneRow>(control, "select waiver, state, reason from lanes order by waiver");
  return {
    submissions: submissions.map(({ inner_hash, state, waiver, error_reason, error_message }) => ({
      innerHash: bytesToHex(inner_hash),
      state,
      waiver: bytesToHex(waiver),
      reason: error_reason ?? undefined,
      message: error_message ?? undefined,
    })),
    lanes: lanes.map(({ waiver, state, reason }) => ({
      waiver: bytesToHex(waiver),
      state,
      reason: reason ?? undefined,
    })),
  };
}
