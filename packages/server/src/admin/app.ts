import { timingSafeEqual } from "node:crypto";
import { describeValue, ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { bearerOf } from "../http/authenticator.js";
import { createBaseApp } from "../http/base.js";
import type { AddressedRequest, ClientAddress } from "../http/clientAddress.js";
import type { FailedAuthentications } from "../http/limits/failedAuthentications.js";
import type { Port } from "../http/port/port.js";
import { hashOfKey } from "../keys/apiKey.js";
import type { IdentifiedToken } from "../keys/configuredKeys.js";
import type { KeyDirectory } from "../keys/directory.js";
import { DEFAULT_OVERLAP_MS, type KeyAdmin } from "../keys/keyAdmin.js";
import type { Actor } from "../model/keys/auditRecord.js";
import { invalidTerms } from "../model/keys/keyTerms.js";
import { type AdminRole, includesRole } from "../model/options/adminToken.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import { ADMIN_ROUTES, type AuditPage, type ExplainedSubmissions, type KeyPage } from "./routes.js";
import type { SubmissionFinder } from "./submissionFinder.js";

interface AdminAppDependencies {
  readonly keyAdmin: KeyAdmin;
  /** The keys as this replica knows them. */
  readonly keys: Pick<KeyDirectory, "refresh">;
  readonly submissions: SubmissionFinder;
  /** Returns the tokens, which may change while the service runs. */
  readonly tokens: () => readonly IdentifiedToken[];
  readonly log: Logger;
  readonly options: Pick<ResolvedOptions, "allowedHosts">;
  readonly clientAddress: ClientAddress;
  readonly failures: FailedAuthentications;
  readonly port: Pick<Port, "connections">;
}

/** A key's terms take a few kilobytes, or a few hundred with a long list of targets. */
const MAX_BODY_BYTES = 1_048_576;
const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;
const MAX_OVERLAP_SECONDS = 366 * 86_400;

/** The parts of a request that the handlers use. */
interface AdminRequest {
  readonly id: string;
  readonly actor: Actor;
  readonly body: unknown;
  readonly query: Record<string, unknown>;
}

type AdminRouteName = keyof typeof ADMIN_ROUTES;
type AdminHandler = (request: AdminRequest) => Promise<object>;

/** Builds the operators' HTTP interface (D25). The command line uses the same {@link KeyAdmin}. */
export function createAdminApp(dependencies: AdminAppDependencies): FastifyInstance {
  const { keyAdmin, keys, submissions, tokens, log, clientAddress, failures, port } = dependencies;
  const app = createBaseApp({
    log,
    allowedHosts: dependencies.options.allowedHosts,
    maxBodyBytes: MAX_BODY_BYTES,
    isForOperators: true,
    routes: Object.values(ADMIN_ROUTES),
  });
  const authenticate = createAdminAuthenticator({ tokens, clientAddress, failures });
  const handlers = handlersFor(keyAdmin, submissions);
  for (const [name, { method, path, role }] of Object.entries(ADMIN_ROUTES)) {
    const handle = handlers[name as AdminRouteName];
    app.route<{ Params: { id?: string }; Querystring: Record<string, unknown> }>({
      method,
      url: path,
      // Unknown paths need no token: they get their 404 without one.
      onRequest: async (request) => {
        authenticate(request.raw, role);
        port.connections.keep(request.raw.socket);
      },
      // The token may have ended while the body arrived.
      preHandler: async (request) => {
        request.actor = authenticate(request.raw, role);
      },
      handler: async ({ params, actor, body, query }, reply) => {
        const answer = await mapStoreErrors(() => handle({ id: params.id ?? "", actor, body, query }));
        // The change binds here before its answer. Where it cannot be read now, it applies with the next poll.
        if (method !== "GET") await keys.refresh().catch(() => {});
        return reply
          .status(name === "create" ? 201 : 200)
          .header("cache-control", "no-store")
          .send(answer);
      },
    });
  }
  return app;
}

function handlersFor(
  keys: KeyAdmin,
  submissions: SubmissionFinder,
): Readonly<Record<AdminRouteName, AdminHandler>> {
  return {
    create: ({ actor, body }) => keys.create(actor, body),
    list: ({ query }) => listPage(keys, query),
    show: ({ id }) => keys.show(id),
    update: ({ actor, id, body }) => keys.update(actor, id, body),
    rotate: ({ actor, id, body }) => keys.rotate(actor, id, overlapMsOf(body)),
    disable: ({ actor, id }) => keys.disable(actor, id),
    enable: ({ actor, id }) => keys.enable(actor, id),
    revoke: ({ actor, id }) => keys.revoke(actor, id),
    audit: ({ query }) => auditPage(keys, query),
    why: async ({ id }) => ({ submissions: await submissions.why(id) }),
    stuck: ({ query }) => stuckPage(submissions, query),
  };
}

async function listPage(keys: KeyAdmin, query: Record<string, unknown>): Promise<KeyPage> {
  const { limit, after } = pageOf(query, ["after"], /^[0-9a-f]{16}$/);
  const page = await keys.list({ after, limit: limit + 1 });
  const next = page.length > limit ? page[limit - 1]?.id : undefined;
  return { keys: page.slice(0, limit), ...(next && { next }) };
}

async function auditPage(keys: KeyAdmin, query: Record<string, unknown>): Promise<AuditPage> {
  const { limit, key: keyId, before } = pageOf(query, ["key", "before"], /^[0-9a-f]{1,16}$/);
  if (before !== undefined && !/^\d+$/.test(before)) throw malformed("before", before);
  const page = await keys.audit({ keyId, before, limit: limit + 1 });
  const next = page.length > limit ? page[limit - 1]?.id : undefined;
  return { entries: page.slice(0, limit), ...(next && { next }) };
}

async function stuckPage(
  submissions: SubmissionFinder,
  query: Record<string, unknown>,
): Promise<ExplainedSubmissions> {
  const { limit, olderThanSeconds = "10" } = pageOf(query, ["olderThanSeconds"], /^\d{1,9}$/);
  const olderThanMs = Number(olderThanSeconds) * 1_000;
  return { submissions: await submissions.stuck({ olderThanMs, limit }) };
}

/** @throws {@link ProtocolError} `MALFORMED_QUERY`. */
function pageOf<Name extends string>(
  query: Record<string, unknown>,
  names: readonly Name[],
  pattern: RegExp,
): { readonly limit: number } & { readonly [K in Name]?: string } {
  const { limit = String(DEFAULT_PAGE_SIZE), ...parameters } = query;
  const count = typeof limit === "string" && /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MAX_PAGE_SIZE) throw malformed("limit", limit);
  for (const [name, value] of Object.entries(parameters)) {
    const isKnown = names.some((one) => one === name);
    if (!isKnown || typeof value !== "string" || !pattern.test(value)) throw malformed(name, value);
  }
  return { limit: count, ...parameters } as { readonly limit: number } & { readonly [K in Name]?: string };
}

function malformed(name: string, value: unknown): ProtocolError {
  return new ProtocolError(
    "MALFORMED_QUERY",
    `${name} is ${describeValue(value)}, which this query does not take`,
  );
}

/** @returns the overlap of a rotation in ms. */
function overlapMsOf(body: unknown): number {
  if (body === undefined || body === null) return DEFAULT_OVERLAP_MS;
  const { overlapSeconds = DEFAULT_OVERLAP_MS / 1_000, ...unknownMembers } =
    typeof body === "object" ? (body as Record<string, unknown>) : { body };
  const [unknown] = Object.keys(unknownMembers);
  if (unknown !== undefined) throw invalidTerms([`${unknown} is not a member that a rotation takes`]);
  const isGood = Number.isSafeInteger(overlapSeconds) && (overlapSeconds as number) >= 0;
  if (isGood && (overlapSeconds as number) <= MAX_OVERLAP_SECONDS) return (overlapSeconds as number) * 1_000;
  throw invalidTerms([
    `overlapSeconds is ${describeValue(overlapSeconds)}, not a whole number from 0 to ${MAX_OVERLAP_SECONDS}`,
  ]);
}

declare module "fastify" {
  interface FastifyRequest {
    /** The operator, for the audit. */
    actor: Actor;
  }
}

/**
 * Authenticates operators by the `Authorization` header. Compares the tokens by their hashes, in constant time.
 * @returns a function that returns the actor for the audit, or throws {@link ProtocolError}. It counts each failure.
 */
function createAdminAuthenticator({
  tokens,
  clientAddress,
  failures,
}: Pick<AdminAppDependencies, "tokens" | "clientAddress" | "failures">) {
  const find = (authorization: string | undefined, address: string) => {
    const text = bearerOf(authorization);
    if (text === undefined) {
      throw new ProtocolError(
        "MISSING_KEY",
        "the request has no header `Authorization: Bearer <admin token>`",
      );
    }
    const hash = hashOfKey(text);
    const [match] = tokens().filter(({ token }) => timingSafeEqual(hashOfKey(token), hash));
    failures.assertMayGuess("admin", address, match?.id);
    if (match === undefined) throw new ProtocolError("UNKNOWN_KEY", "the admin token is not known");
    failures.addValid("admin", address, match.id);
    return match;
  };
  return (request: AddressedRequest, needed: AdminRole): Actor => {
    const address = clientAddress(request);
    let actor: string | undefined;
    try {
      const { name, id, role = "admin", expiresAt } = find(request.headers.authorization, address);
      actor = `admin token ${name}`;
      if (expiresAt !== undefined && expiresAt <= new Date()) {
        throw new ProtocolError("KEY_EXPIRED", "the admin token has expired");
      }
      if (!includesRole(role, needed)) {
        throw new ProtocolError("ROLE_TOO_LOW", `a token of role ${role} may not do this; ${needed} may`);
      }
      return { name: actor, tokenId: id, source: address };
    } catch (error) {
      if (error instanceof ProtocolError && isFailure(error))
        failures.add({ interface: "admin", address, reason: error.reason, ...(actor && { actor }) });
      throw error;
    }
  };
}

/** A request without a token is no attempt, and one that is slowed down was not looked at. */
function isFailure({ code, reason }: ProtocolError): boolean {
  return code === "UNAUTHORIZED" && reason !== "MISSING_KEY";
}
