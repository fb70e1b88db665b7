import { define } from "../../define.js";
import check, { CHECK_ROUTE } from "./check.js";
import { ASYNC_API_ROUTE, asyncApi, DOCS_ROUTE, docs, OPEN_API_ROUTE, openApi } from "./documents.js";
import health, { HEALTH_ROUTE } from "./health.js";
import policy, { POLICY_ROUTE } from "./policy.js";
import ready, { READY_ROUTE } from "./ready.js";
import socket, { SOCKET_ROUTE } from "./socket.js";
import submission, { SUBMISSION_ROUTE } from "./submission.js";
import submissions, { SUBMISSIONS_ROUTE } from "./submissions.js";
import submit, { SUBMIT_ROUTE } from "./submit.js";

// The codecs. `export *` leaves out the default exports, which are the definitions for the descriptions.
export * from "./check.js";
export { ASYNC_API_ROUTE, DOCS_ROUTE, OPEN_API_ROUTE } from "./documents.js";
export * from "./health.js";
export * from "./policy.js";
export * from "./ready.js";
export * from "./socket.js";
export * from "./submission.js";
export * from "./submissions.js";
export * from "./submit.js";

/** The routes of the service, in the order of the reference. The paths carry the version (D26). */
export const ROUTES = {
  submit: SUBMIT_ROUTE,
  socket: SOCKET_ROUTE,
  check: CHECK_ROUTE,
  policy: POLICY_ROUTE,
  submission: SUBMISSION_ROUTE,
  submissions: SUBMISSIONS_ROUTE,
  health: HEALTH_ROUTE,
  ready: READY_ROUTE,
  openApi: OPEN_API_ROUTE,
  asyncApi: ASYNC_API_ROUTE,
  docs: DOCS_ROUTE,
} as const;

export type RouteName = keyof typeof ROUTES;

/** The definition of each route of {@link ROUTES}. */
export default /* @__PURE__ */ define(() => ({
  submit,
  socket,
  check,
  policy,
  submission,
  submissions,
  health,
  ready,
  openApi,
  asyncApi,
  docs,
}));
