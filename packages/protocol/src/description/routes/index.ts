import type { Reason } from "../../reasons.js";
import { ROUTES } from "../../wire/routes.js";
import { OF_ANY_REQUEST, OF_THE_KEY } from "../common.js";
import type { RouteDescription } from "./RouteDescription.js";
import { HEALTH, READY } from "./service.js";
import { SUBMISSION } from "./submissions.js";
import { SOCKET, SUBMIT } from "./submit.js";

export type { AnswerDescription, ParameterDescription, RouteDescription } from "./RouteDescription.js";

export type RouteName = keyof typeof ROUTES;

/** Each route of ROUTES, in the order of the reference. The compiler asks for a new one's. */
export const ROUTE_DESCRIPTIONS: Readonly<Record<RouteName, RouteDescription>> = {
  submit: SUBMIT,
  socket: SOCKET,
  submission: SUBMISSION,
  health: HEALTH,
  ready: READY,
};

/** Every reason for which a request of this route can be refused whole. */
export function refusalsOf(name: RouteName): readonly Reason[] {
  const ofTheKey = ROUTES[name].authenticated ? OF_THE_KEY : [];
  return [...ROUTE_DESCRIPTIONS[name].refusals, ...ofTheKey, ...OF_ANY_REQUEST];
}
