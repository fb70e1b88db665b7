import type { Reason } from "../../reasons.js";
import { statusOf } from "../../wire/errorBody.js";
import { ROUTES } from "../../wire/routes.js";
import { OF_ANY_REQUEST, OF_THE_KEY } from "../common.js";
import { CHECK } from "./check.js";
import { ASYNC_API, DOCS, OPEN_API } from "./documents.js";
import { POLICY } from "./policy.js";
import type { RouteDescription } from "./RouteDescription.js";
import { HEALTH, READY } from "./service.js";
import { SUBMISSION, SUBMISSIONS } from "./submissions.js";
import { SOCKET, SUBMIT } from "./submit.js";

export type { AnswerDescription, ParameterDescription, RouteDescription } from "./RouteDescription.js";

export type RouteName = keyof typeof ROUTES;

/** Each route of ROUTES, in the order of the reference. The compiler asks for a new one's. */
export const ROUTE_DESCRIPTIONS: Readonly<Record<RouteName, RouteDescription>> = {
  submit: SUBMIT,
  socket: SOCKET,
  check: CHECK,
  policy: POLICY,
  submission: SUBMISSION,
  submissions: SUBMISSIONS,
  health: HEALTH,
  ready: READY,
  openApi: OPEN_API,
  asyncApi: ASYNC_API,
  docs: DOCS,
};

/** Every reason for which a request of this route can be refused whole. */
export function refusalsOf(name: RouteName): readonly Reason[] {
  const ofTheKey = ROUTES[name].authenticated ? OF_THE_KEY : [];
  return [...ROUTE_DESCRIPTIONS[name].refusals, ...ofTheKey, ...OF_ANY_REQUEST];
}

/** The statuses of a route's refusals, each with its reasons. */
export function refusalsByStatus(reasons: readonly Reason[]): ReadonlyMap<number, readonly Reason[]> {
  const statuses = [...new Set(reasons.map(statusOf))].sort((a, b) => a - b);
  return new Map(statuses.map((status) => [status, reasons.filter((one) => statusOf(one) === status)]));
}
