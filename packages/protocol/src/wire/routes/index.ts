import { define } from "../../define.js";
import asyncApi, { ASYNC_API_ROUTE } from "./asyncApi.js";
import check, { CHECK_ROUTE } from "./check.js";
import docs, { DOCS_ROUTE } from "./docs.js";
import health, { HEALTH_ROUTE } from "./health.js";
import openApi, { OPEN_API_ROUTE } from "./openApi.js";
import policy, { POLICY_ROUTE } from "./policy.js";
import ready, { READY_ROUTE } from "./ready.js";
import socket, { SOCKET_ROUTE } from "./socket.js";
import submission, { SUBMISSION_ROUTE } from "./submission.js";
import submissions, { SUBMISSIONS_ROUTE } from "./submissions.js";
import submit, { SUBMIT_ROUTE } from "./submit.js";

// The codecs. `export *` leaves out the default exports, which are the definitions for the descriptions.
export * from "./asyncApi.js";
export * from "./check.js";
export * from "./docs.js";
export * from "./health.js";
export * from "./openApi.js";
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
