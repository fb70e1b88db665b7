// The audit of a running service (D25): secrets that it reads, failed authentications, commands to lanes.
import { describe, expect, it } from "vitest";
import { openAudit } from "../../src/admin/openAudit.js";
import { openLaneAdmin } from "../../src/lane/admin/admin.js";
import type { AuditRecord } from "../../src/model/keys/auditRecord.js";
import { testServices } from "../support/testService.js";
import { accountsOf, WAIVER_KEY } from "../support/user.js";

const services = testServices();
const [ADMIN, VIEWER] = ["b5d01e7c94fa3826", "6c2f90a7d8e1b354"].map((half) => half.repeat(2));
const adminTokens = [
  { name: "alice", token: ADMIN ?? "" },
  { name: "bob", token: VIEWER ?? "", role: "viewer" },
] as const;
const GUESS = "guess-of-a-secret-that-nobody-has";

describe("the audit", () => {
  it("has the secrets that were read, failed authentications with their addresses, and commands to lanes", async () => {
    const service = await services.start({ adminTokens });
    const { url } = await service.server.listenAdmin({ host: "127.0.0.1", port: 0 });
    const [waiver] = accountsOf(WAIVER_KEY);
    if (waiver === undefined) throw new Error("there is no waiver");
    const lanes = await openLaneAdmin({ databaseUrl: service.databaseUrl }, "command line, carol@host");
    await lanes.set(waiver.address, "draining", "a test");
    await lanes.close();
    const guess = { authorization: `Bearer ${GUESS}` };
    for (let i = 0; i < 3; i++) await service.call("GET", "/v1/ready", undefined, guess);
    await fetch(`${url}/admin/v1/keys`, { headers: guess });
    const bearer = { authorization: `Bearer ${VIEWER}` };
    expect((await fetch(`${url}/admin/v1/keys`, { method: "POST", headers: bearer })).status).toBe(403);
    await service.server.setWaivers([waiver]);
    await service.server.close();

    const audit = await openAudit({ databaseUrl: service.databaseUrl });
    const records = (await audit.list({ limit: 100 })).reverse();
    await audit.close();
    const ofAction = (action: AuditRecord["action"]) => records.filter((record) => record.action === action);
    const address = expect.stringMatching(/^0x[0-9a-f]{40}$/);
    const id = expect.stringMatching(/^[0-9a-f]{16}$/);
    expect(ofAction("read-secrets").map(({ changes }) => changes)).toEqual([
      {
        waivers: { to: [address] },
        apiKeys: { to: [id, id] },
        adminTokens: {
          to: [
            { id, name: "alice", role: "admin" },
            { id, name: "bob", role: "viewer" },
          ],
        },
      },
      { waivers: { to: [address] } },
    ]);
    expect(ofAction("drain-lane")).toMatchObject([{ actor: "command line, carol@host", waiver: address }]);
    expect(
      ofAction("failed-authentication").map(({ actor, source, changes }) => [actor, source, changes]),
    ).toEqual(
      expect.arrayContaining([
        [
          "unknown",
          "127.0.0.1",
          { interface: { to: "api" }, reason: { to: "UNKNOWN_KEY" }, count: { to: 3 } },
        ],
        [
          "unknown",
          "127.0.0.1",
          { interface: { to: "admin" }, reason: { to: "UNKNOWN_KEY" }, count: { to: 1 } },
        ],
        [
          "admin token bob",
          "127.0.0.1",
          { interface: { to: "admin" }, reason: { to: "ROLE_TOO_LOW" }, count: { to: 1 } },
        ],
      ]),
    );
    for (const secret of [GUESS, ADMIN, VIEWER]) expect(JSON.stringify(records)).not.toContain(secret);
  });
});
