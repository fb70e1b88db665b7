// Validates the two documents against their standards.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { validate } from "@readme/openapi-parser";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { CLOSE_CODES, ROUTES } from "../wire/routes/index.js";
import { asyncApiOf } from "./asyncApi.js";
import { openApiOf } from "./openApi.js";
import { FRAMES } from "./routes.js";

const openApi = openApiOf({ version: "1.2.3" });
const asyncApi = asyncApiOf({ version: "1.2.3" });
const resolve = createRequire(import.meta.url).resolve;

/** Expects every reference in a description to resolve. */
function expectReferencesToResolve(document: unknown): void {
  for (const [, path = ""] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    let value: unknown = document;
    for (const part of path.split("/")) value = (value as Record<string, unknown> | undefined)?.[part];
    expect(value, path).toBeDefined();
  }
}

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    expect(await validate(structuredClone(openApi) as never)).toEqual({
      valid: true,
      warnings: [],
      specification: "OpenAPI",
    });
  });

  it("is refused by the same validator if an operation calls its responses `answers`", async () => {
    const paths = { "/v1/health": { get: { answers: {} } } };
    expect(await validate({ ...openApi, paths } as never)).toMatchObject({ valid: false });
  });

  it("has every route of the versioned interface, each with an API key except health", () => {
    const { paths } = openApi as { paths: Record<string, Record<string, { security?: unknown }>> };
    for (const { method, path, authenticated } of Object.values(ROUTES)) {
      if (!path.startsWith("/v1/")) continue;
      const operation = paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
      expect(operation, path).toBeDefined();
      expect(operation?.security).toEqual(authenticated ? undefined : []);
      expect(authenticated).toBe(path !== ROUTES.health.path);
    }
  });
});

describe("the AsyncAPI document", () => {
  it("is valid against the published schema of AsyncAPI 3", () => {
    const schema = JSON.parse(readFileSync(resolve("@asyncapi/specs/schemas/3.0.0.json"), "utf8"));
    // The published schema brings a copy of the meta schema, which the validator already has.
    delete schema.definitions["http://json-schema.org/draft-07/schema"];
    const ajv = new Ajv({ strict: false, allErrors: true });
    formats.default(ajv);
    const isValid = ajv.compile(schema);
    expect(isValid(asyncApi), JSON.stringify(isValid.errors, null, 1)).toBe(true);
    const operations = { request: { action: "sing", channel: { $ref: "#/channels/submit" } } };
    expect(isValid({ ...asyncApi, operations })).toBe(false);
  });

  it("has all frames and all close codes, and references that resolve", () => {
    expectReferencesToResolve(asyncApi);
    expectReferencesToResolve(openApi);
    expect(Object.keys(FRAMES)).toHaveLength(5);
    const text = JSON.stringify(asyncApi);
    for (const code of Object.values(CLOSE_CODES)) expect(text).toContain(`{"code":${code},`);
  });
});
