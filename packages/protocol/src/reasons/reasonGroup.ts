import type { ErrorCode } from "./codes.js";

/** The code of each reason of a group. */
export type ReasonCodes = Readonly<Record<string, ErrorCode>>;

/** The HTTP status of those reasons of a group whose status is not the one of their code. */
export type StatusesOf<Codes extends ReasonCodes> = Readonly<Partial<Record<keyof Codes, number>>>;

/**
 * The places in which a caller meets a reason: a result line of a submit, a line of a check, the line of an id that
 * cannot be watched, the record of a submission (and the line of a watch), the error of a whole HTTP request, the error
 * frame of a whole request over a WebSocket, the error of a validating node (`data.reason`), or the operators' admin API.
 */
export type Place = "submit" | "check" | "watch" | "record" | "http" | "frame" | "node" | "admin";

/** The facts about a reason that a caller needs. The texts are plain sentences with code in backticks. */
export interface ReasonNote {
  readonly where: readonly Place[];
  readonly cause: string;
  readonly remedy: string;
}

/** A section of the reference: reasons of one kind. The compiler asks for a note on every reason of `Codes`. */
export interface ReasonGroup<Codes extends ReasonCodes = ReasonCodes> {
  readonly title: string;
  readonly notes: Readonly<Record<keyof Codes, ReasonNote>>;
}
