import type { AllowedTarget } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { bytes } from "../../test/support/submissions.js";
import { APPROVE, TOKEN, TRANSFER } from "../../test/support/user.js";
import { configuredPolicies, registryPolicies } from "./policySet.js";

const [FIRST, SECOND, STRANGER] = [bytes(20, 1), bytes(20, 2), bytes(20, 3)];
const OTHER = bytes(20, 9);
const on = (...selectors: Uint8Array[]): AllowedTarget[] => [{ address: TOKEN, selectors }];
const known = (first: AllowedTarget[] | undefined, second: AllowedTarget[] | undefined) => [
  { waiver: FIRST, targets: first },
  { waiver: SECOND, targets: second },
];

describe("the policies of several waivers", () => {
  it("permit each call that one of them permits, and tell which", () => {
    const policies = registryPolicies(known(on(TRANSFER), on(APPROVE)), undefined);
    expect(policies.waiversDiffer).toBe(true);
    expect(policies.check(TOKEN, TRANSFER)).toBe("allowed");
    expect(policies.check(TOKEN, bytes(4, 7))).toBe("selector not allowed");
    expect(policies.check(OTHER, TRANSFER)).toBe("target not allowed");
    expect(policies.waiversFor(TOKEN, TRANSFER)).toEqual([FIRST]);
    expect(policies.waiversFor(TOKEN, APPROVE)).toEqual([SECOND]);
    expect(policies.waiversFor(OTHER, APPROVE)).toEqual([]);
  });

  it("do not differ if they permit the same calls, however they are written", () => {
    const [one, two] = [on(TRANSFER, APPROVE), [...on(APPROVE), ...on(TRANSFER)]];
    const policies = registryPolicies(known(one, two), undefined);
    expect(policies.waiversDiffer).toBe(false);
    expect(policies.waiversFor(TOKEN, TRANSFER)).toBeUndefined();
    expect(policies.targetsOf(FIRST)).toEqual(policies.targetsOf(SECOND));
  });

  it("are narrowed by the configuration, whose refusal comes first", () => {
    const policies = registryPolicies(known(on(TRANSFER, APPROVE), [{ address: "*" }]), on(TRANSFER));
    expect(policies.waiversDiffer).toBe(false);
    expect(policies.check(TOKEN, TRANSFER)).toBe("allowed");
    expect(policies.check(TOKEN, APPROVE)).toBe("selector not allowed");
    expect(policies.check(OTHER, TRANSFER)).toBe("target not allowed");
    expect(policies.targetsOf(SECOND)).toEqual(on(TRANSFER));
  });

  it("tell for each waiver why it cannot be used", () => {
    const policies = registryPolicies(known(on(TRANSFER), undefined), undefined);
    expect(policies.whyUnusable(FIRST)).toBeUndefined();
    expect(policies.whyUnusable(SECOND)).toContain("is not a registered waiver");
    expect(policies.whyUnusable(STRANGER)).toContain("has not been read yet");
    expect([policies.targetsOf(SECOND), policies.targetsOf(STRANGER)]).toEqual([[], []]);
    expect(policies.check(TOKEN, TRANSFER)).toBe("allowed");
  });

  it("refuse every call with WAIVER_NOT_REGISTERED if no waiver is registered", () => {
    const policies = registryPolicies(known(undefined, undefined), on(TRANSFER));
    expect(() => policies.check(TOKEN, TRANSFER)).toThrow(
      expect.objectContaining({ reason: "WAIVER_NOT_REGISTERED" }),
    );
    expect(() => policies.check(TOKEN, TRANSFER)).toThrow("none of this service's waivers is registered");
    expect(policies.waiversFor(TOKEN, TRANSFER)).toBeUndefined();
  });
});

describe("a configured policy", () => {
  it("holds for every waiver, unknown ones too", () => {
    const policies = configuredPolicies(on(TRANSFER));
    expect(policies.check(TOKEN, TRANSFER)).toBe("allowed");
    expect(policies.check(TOKEN, APPROVE)).toBe("selector not allowed");
    expect([policies.waiversDiffer, policies.whyUnusable(STRANGER)]).toEqual([false, undefined]);
    expect(policies.targetsOf(STRANGER)).toEqual(on(TRANSFER));
  });
});
