import { describe, expect, it } from "vitest";
import { REASONS, type Reason } from "../reasons/index.js";
import { REASON_NOTES } from "../reasons/notes.js";
import { ROUTES, type RouteName } from "../wire/routes/index.js";
import { NO_ROUTE_REFUSALS, refusalsOf } from "./refusals.js";
import { ROUTE_DEFINITIONS, ROUTE_NAMES } from "./routes.js";

const names = Object.keys(ROUTES) as RouteName[];
const httpReasons = (Object.keys(REASONS) as Reason[]).filter((reason) =>
  REASON_NOTES[reason].where.includes("http"),
);

describe("the definitions of the routes", () => {
  it("exist for exactly the routes, in the same order", () => {
    expect(ROUTE_NAMES).toEqual(names);
  });

  it.each(names)("%s: each refusal can occur over HTTP, and is listed once", (name) => {
    const reasons = refusalsOf(name);
    expect(reasons.filter((reason) => !httpReasons.includes(reason))).toEqual([]);
    expect(new Set(reasons).size).toBe(reasons.length);
  });

  it.each(names)("%s: the parameters of its path are described, and are required", (name) => {
    const inPath = [...ROUTES[name].path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter);
    const described = (ROUTE_DEFINITIONS[name].parameters ?? []).filter((one) => one.in === "path");
    expect(described.map((one) => one.name)).toEqual(inPath);
    expect(described.every((one) => one.required)).toBe(true);
  });

  it("list every reason that can occur over HTTP", () => {
    const described = new Set([...names.flatMap(refusalsOf), ...NO_ROUTE_REFUSALS]);
    expect(httpReasons.filter((reason) => !described.has(reason))).toEqual([]);
  });
});
