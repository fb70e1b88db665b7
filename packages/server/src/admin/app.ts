import { describeValue, ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { createBaseApp } from "../http/base.js";
import { DEFAULT_OVERLAP_MS, type KeyAdmin } from "../keys/keyAdmin.js";
import type { AdminToken } from "../model/adminToken.js";
import { invalidTerms } from "../model/keyTerms.js";
import type { Logger } from "../model/log.js";
import { mapStoreErrors } from "../store/mapStoreErrors.js";
import { createAdminAuthenticator } from "./auth.js";
import { ADMIN_ROUTES, type AuditPage, type KeyPage } from "./routes.js";

export interface AdminAppDependencies {
  readonly keys: KeyAdmin;
  readonly tokens: readonly AdminToken[];
  readonly log: Logger;
}

/** The description of a key is some kilobytes, with a long list of targets some hundred. */
const MAX_BODY_BYTES = 1_048_576;
const PAGE = { usual: 100, most: 1_000 };
const MAX_OVERLAP_SECONDS = 366 * 86_400;

interface Request {
  readonly id: string;
  readonly actor: string;
  readonly body: unknown;
  readonly query: Record<string, unknown>;
}

/** The operators' HTTP side (D25). The command line does the same by the same {@link KeyAdmin}. */
export function createAdminApp({ keys, tokens, log }: AdminAppDependencies): FastifyInstance {
  const metrics = { refused: () => {} };
  const app = createBaseApp({
    log,
    metrics,
    maxBodyBytes: MAX_BODY_BYTES,
    routes: Object.values(ADMIN_ROUTES),
  });
  const authenticate = createAdminAuthenticator(tokens);
  app.decorateRequest("actor", "");
  const handlers: Readonly<Record<keyof typeof ADMIN_ROUTES, (request: Request) => Promise<object>>> = {
    create: ({ actor, body }) => keys.create(actor, body),
    list: ({ query }) => listPage(keys, query),
    show: ({ id }) => keys.show(id),
    update: ({ actor, id, body }) => keys.update(actor, id, body),
    rotate: ({ actor, id, body }) => keys.rotate(actor, id, overlapOf(body)),
    disable: ({ actor, id }) => keys.disable(actor, id),
    enable: ({ actor, id }) => keys.enable(actor, id),
    revoke: ({ actor, id }) => keys.revoke(actor, id),
    audit: ({ query }) => auditPage(keys, query),
  };
  for (const [name, { method, path }] of Object.entries(ADMIN_ROUTES)) {
    const handle = handlers[name as keyof typeof ADMIN_ROUTES];
    app.route<{ Params: { id?: string }; Querystring: Record<string, unknown> }>({
      method,
      url: path,
      onRequest: async (request) => {
        request.actor = authenticate(request.headers.authorization);
      },
      handler: async ({ params, actor, body, query }, reply) => {
        const answer = await mapStoreErrors(() => handle({ id: params.id ?? "", actor, body, query }));
        return reply
          .status(name === "create" ? 201 : 200)
          .header("cache-control", "no-store")
          .send(answer);
      },
    });
  }
  return app;
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

/** @throws {@link ProtocolError} `MALFORMED_QUERY`. */
function pageOf<Name extends string>(
  query: Record<string, unknown>,
  names: readonly Name[],
  pattern: RegExp,
): { readonly limit: number } & { readonly [K in Name]?: string } {
  const { limit = String(PAGE.usual), ...others } = query;
  const count = typeof limit === "string" && /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > PAGE.most) throw malformed("limit", limit);
  for (const [name, value] of Object.entries(others)) {
    const known = names.some((one) => one === name);
    if (!known || typeof value !== "string" || !pattern.test(value)) throw malformed(name, value);
  }
  return { limit: count, ...others } as { readonly limit: number } & { readonly [K in Name]?: string };
}

function malformed(name: string, value: unknown): ProtocolError {
  return new ProtocolError(
    "MALFORMED_QUERY",
    `${name} is ${describeValue(value)}, which is not understood here`,
  );
}

/** In ms. */
function overlapOf(body: unknown): number {
  if (body === undefined || body === null) return DEFAULT_OVERLAP_MS;
  const { overlapSeconds = DEFAULT_OVERLAP_MS / 1_000, ...others } =
    typeof body === "object" ? (body as Record<string, unknown>) : { body };
  const [strange] = Object.keys(others);
  if (strange !== undefined) throw invalidTerms([`${strange} is nothing that a rotation takes`]);
  const isGood = Number.isSafeInteger(overlapSeconds) && (overlapSeconds as number) >= 0;
  if (isGood && (overlapSeconds as number) <= MAX_OVERLAP_SECONDS) return (overlapSeconds as number) * 1_000;
  throw invalidTerms([
    `overlapSeconds is ${describeValue(overlapSeconds)}, not a whole number from 0 to ${MAX_OVERLAP_SECONDS}`,
  ]);
}

declare module "fastify" {
  interface FastifyRequest {
    /** Which operator calls, for the audit. */
    actor: string;
  }
}
