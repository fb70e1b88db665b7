import type { KeyRecord } from "../keys/keyRecord.js";
import type { AuditRecord } from "../model/keys/auditRecord.js";
import type { AdminRole } from "../model/options/adminToken.js";
import type { ExplainedSubmission } from "./submissionFinder.js";

/** A route, with the least role of a token that may use it. */
export interface AdminRoute {
  readonly method: string;
  readonly path: string;
  readonly role: AdminRole;
}

/**
 * The operators' routes (D25), on a port of their own. Each needs an operator's token, as `Authorization: Bearer`. Errors
 * have the shape of D21. `:id` is the id of a key, unless a route says otherwise.
 */
export const ADMIN_ROUTES = {
  /** Body: `label`, and optionally `env`, `expiresAt`, `limits`, `allowedTargets`, `caps`, `publishable`, `origins`. Answers 201 with the key, only once. */
  create: { method: "POST", path: "/admin/v1/keys", role: "admin" },
  /** Query: `limit`, and `after` for the next page. Answers a {@link KeyPage}. */
  list: { method: "GET", path: "/admin/v1/keys", role: "viewer" },
  show: { method: "GET", path: "/admin/v1/keys/:id", role: "viewer" },
  /** Body: the members to change; `null` unsets one. */
  update: { method: "PATCH", path: "/admin/v1/keys/:id", role: "admin" },
  /** Body: {@link RotateInput}, or none. Answers the new key, only once. */
  rotate: { method: "POST", path: "/admin/v1/keys/:id/rotate", role: "admin" },
  disable: { method: "POST", path: "/admin/v1/keys/:id/disable", role: "operator" },
  enable: { method: "POST", path: "/admin/v1/keys/:id/enable", role: "operator" },
  revoke: { method: "POST", path: "/admin/v1/keys/:id/revoke", role: "operator" },
  /** Query: `key`, `limit`, and `before` for the next page. Answers an {@link AuditPage}. */
  audit: { method: "GET", path: "/admin/v1/audit", role: "viewer" },
  /** Query: `olderThanSeconds` (10 by default) and `limit`. Answers the oldest submissions without a block, of any key. */
  stuck: { method: "GET", path: "/admin/v1/stuck", role: "viewer" },
  /** `:id` is the id of a submission, the hash of its transaction or of a wrapper, or the address of a sender. */
  why: { method: "GET", path: "/admin/v1/why/:id", role: "viewer" },
} as const satisfies Readonly<Record<string, AdminRoute>>;

export interface RotateInput {
  /** The secret before the rotation stays valid for this long; 86,400 by default. */
  readonly overlapSeconds?: number;
}

export interface KeyPage {
  readonly keys: readonly KeyRecord[];
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string;
}

export interface AuditPage {
  /** The latest change comes first. */
  readonly entries: readonly AuditRecord[];
  /** The value of `before` for the next page; absent on the last one. */
  readonly next?: string;
}

export interface ExplainedSubmissions {
  readonly submissions: readonly ExplainedSubmission[];
}
