import { describe, expect, it } from "vitest";
import { REASONS, type Reason } from "../../reasons.js";
import { ROUTES } from "../../wire/routes.js";
import { OF_NO_ROUTE } from "../common.js";
import { REASON_NOTES } from "../reasons.js";
import { ROUTE_DESCRIPTIONS, type RouteName, refusalsOf } from "./index.js";

const names = Object.keys(ROUTES) as RouteName[];
const seenOverHttp = (Object.keys(REASONS) as Reason[]).filter((reason) =>
  REASON_NOTES[reason].where.includes("http"),
);

describe("the descriptions of the routes", () => {
  it("are there for each route, and for no other", () => {
    expect(Object.keys(ROUTE_DESCRIPTIONS).sort()).toEqual([...names].sort());
  });

  it.each(names)("%s: its reasons are seen over HTTP, each named once", (name) => {
    const reasons = refusalsOf(name);
    expect(reasons.filter((reason) => !seenOverHttp.includes(reason))).toEqual([]);
    expect(new Set(reasons).size).toBe(reasons.length);
  });

  it.each(names)("%s: its path's parameters are described, and are required", (name) => {
    const inPath = [...ROUTES[name].path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter);
    const described = (ROUTE_DESCRIPTIONS[name].parameters ?? []).filter((one) => one.in === "path");
    expect(described.map((one) => one.name)).toEqual(inPath);
    expect(described.every((one) => one.required)).toBe(true);
  });

  it("have every reason that is seen over HTTP", () => {
    const described = new Set([...names.flatMap(refusalsOf), ...OF_NO_ROUTE]);
    expect(seenOverHttp.filter((reason) => !described.has(reason))).toEqual([]);
  });
});
