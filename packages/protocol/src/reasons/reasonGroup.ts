import type { ErrorCode, Retry } from "./codes.js";
import type { DetailName } from "./detailNames.js";

/** The facts about a reason that programs need. */
export interface ReasonRecord {
  /** The HTTP status of a request refused for it (D21), where it is not the one of its code. */
  readonly status?: number;
  /** Whether it helps to send the same thing again, where it is not as with its code. */
  readonly retry?: Retry;
  /** The values that its errors may have in their details, beside `retry` (D13). */
  readonly details?: readonly DetailName[];
  /** True if validators give it in `data.reason` of their error, for a wrapper that fails a check (D7, D13). */
  readonly node?: true;
}

/** The records of a group's reasons, under the code that they belong to. */
export type ReasonsByCode = { readonly [Code in ErrorCode]?: Readonly<Record<string, ReasonRecord>> };

/**
 * The places in which a caller meets a reason: a result line of a submit, a line of a check, the line of an id that
 * cannot be watched, the record of a submission (and the line of a watch), the error of a whole HTTP request, the error
 * frame of a whole request over a WebSocket, the error of a validating node (`data.reason`), or the operators' admin API.
 */
export type Place = "submit" | "check" | "watch" | "record" | "http" | "frame" | "node" | "admin";

/** The facts about a reason that people need. The texts are plain sentences with code in backticks. */
export interface ReasonNote {
  readonly where: readonly Place[];
  readonly cause: string;
  readonly remedy: string;
}

/** The names of a group's reasons. */
export type NamesOf<Group> = { [Code in keyof Group]: keyof Group[Code] }[keyof Group] & string;

/**
 * A section of the reference: reasons of one kind. The compiler asks for a note on every reason. The record tells whether a
 * node gives the reason, so no note names that place.
 */
export interface ReasonGroup<Group> {
  readonly title: string;
  /** The places of the reasons whose notes name none of their own. */
  readonly where: readonly Exclude<Place, "node">[];
  readonly notes: {
    readonly [Name in NamesOf<Group>]: Omit<ReasonNote, "where"> & {
      readonly where?: readonly Exclude<Place, "node">[];
    };
  };
}
