import { describe, expect, it } from "vitest";
import { refusal } from "../../../test/support/fixtures.js";
import { WireError } from "../wireError.js";
import {
  encodeSubmissionsQuery,
  parseSubmissionPage,
  parseSubmissionsQuery,
  type SubmissionsQuery,
} from "./submissions.js";

const sender = `0x${"ab".repeat(20)}`;
const txHash = `0x${"cd".repeat(32)}`;

describe("the query parameters of a list", () => {
  it("are all optional, with 50 records a page", () => {
    expect(parseSubmissionsQuery({})).toEqual({ limit: 50 });
  });

  it("read back as they were sent", () => {
    const query: SubmissionsQuery = {
      ...{ sender, txHash, states: ["queued", "failed"], limit: 200, cursor: "AZ_-09" },
      ...{ from: new Date("2030-01-01T00:00:00.001Z"), to: new Date("2031-01-01") },
    };
    const text = new URLSearchParams(encodeSubmissionsQuery(query));
    expect(parseSubmissionsQuery(Object.fromEntries(text))).toEqual(query);
    expect(encodeSubmissionsQuery({})).toEqual({});
  });

  it("accept a state once, several times, and separated by commas", () => {
    expect(parseSubmissionsQuery({ state: "failed" }).states).toEqual(["failed"]);
    expect(parseSubmissionsQuery({ state: ["failed", "queued,signed", "failed"] }).states).toEqual([
      "queued",
      "signed",
      "failed",
    ]);
  });

  it("accept hex in either case, dates, and times of any zone", () => {
    expect(parseSubmissionsQuery({ sender: sender.toUpperCase().replace("X", "x") }).sender).toBe(sender);
    expect(parseSubmissionsQuery({ from: "2030-01-31" }).from).toEqual(new Date("2030-01-31T00:00:00Z"));
    expect(parseSubmissionsQuery({ to: "2030-01-31T12:00+02:00" }).to).toEqual(new Date("2030-01-31T10:00Z"));
  });

  it.each([
    [{ sender: "0xab" }, 'sender is "0xab"; it must be an address'],
    [{ sender: [sender, sender] }, "sender is an array; it must be an address"],
    [{ txHash: sender }, "it must be a hash: 0x and 64 hex digits"],
    [{ state: "" }, 'state is ""; it must be one of queued, signed, broadcast, included, failed'],
    [{ state: "queued,done" }, 'state is "done"'],
    [{ state: ["queued", "__proto__"] }, 'state is "__proto__"'],
    [{ limit: "0" }, 'limit is "0"; it must be a whole number from 1 to 200'],
    [{ limit: "201" }, 'limit is "201"'],
    [{ limit: "1e2" }, 'limit is "1e2"'],
    [{ from: "yesterday" }, 'from is "yesterday"; it must be a day (UTC) or a time with its time zone'],
    [{ from: "2030-01-31T12:00:00" }, "from is"],
    [{ to: "2030-02-30" }, 'to is "2030-02-30"'],
    [{ to: "2030-13-01" }, 'to is "2030-13-01"'],
    [{ to: "2030-01-31T25:00Z" }, 'to is "2030-01-31T25:00Z"'],
    [{ from: "2030-01-31", to: "2030-01-31" }, 'to is "2030-01-31"; it must be a time after from'],
    [{ cursor: "a b" }, 'cursor is "a b"; it must be `next` of the page before'],
    [{ Sender: sender }, 'there is no parameter "Sender"; there are sender, txHash, state'],
  ])("refuse %j", (query, message) => {
    const error = refusal(() => parseSubmissionsQuery(query));
    expect(error).toMatchObject({ reason: "MALFORMED_QUERY", code: "INVALID_REQUEST" });
    expect(error.message).toContain(message);
  });
});

describe("a page of a list", () => {
  const record = {
    ...{ id: "01890a5d-ac96-774b-bcce-b302099a8057", state: "queued", certainty: "not_broadcast" },
    ...{ txHash, sender, nonce: "0", acceptedAt: "2030-01-01T00:00:00.000Z" },
  };

  it.each([{ submissions: [] }, { submissions: [record], next: "AZ" }])("reads back: %j", (page) => {
    expect(parseSubmissionPage(JSON.parse(JSON.stringify({ ...page, newer: 1 })))).toEqual(page);
  });

  it.each([undefined, [], {}, { submissions: {} }, { submissions: [{}] }, { submissions: [], next: 1 }])(
    "is not %j",
    (value) => {
      expect(() => parseSubmissionPage(value)).toThrow(WireError);
    },
  );
});
