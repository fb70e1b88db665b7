import { Readable } from "node:stream";
import { constants, createGunzip, gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deferred } from "../../../test/support/deferred.js";
import { GOOD_HEADERS, testServices } from "../../../test/support/testService.js";
import { innerOf } from "../../../test/support/user.js";
import { acceptsGzip, gzipChunks } from "./gzip.js";

const services = testServices();
const GZIP = { "accept-encoding": "gzip" };

describe("gzip of result lines", () => {
  it("is used only for clients that ask for it, and has the same lines", async () => {
    const service = await services.start();
    const body = JSON.stringify({ transactions: [innerOf(1)] });
    const plain = await service.post(body);
    expect(plain.headers).not.toHaveProperty("content-encoding");
    expect(plain.headers.vary).toBe("accept-encoding");
    const compressed = await service.open("POST", "/v1/submit", body, { ...GOOD_HEADERS, ...GZIP });
    expect(compressed.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(gunzipSync(Buffer.concat(await compressed.toArray())).toString()).toBe(plain.text);
  });

  it("delivers a line while the next one is not known yet", async () => {
    const service = await services.start();
    const nodeAnswer = deferred();
    service.node.onSends({ kind: "later", after: nodeAnswer.promise });
    const body = JSON.stringify({ transactions: [innerOf(1), "0x12"] });
    const response = await service.open("POST", "/v1/submit", body, { ...GOOD_HEADERS, ...GZIP });
    const lines = response
      .pipe(createGunzip({ flush: constants.Z_SYNC_FLUSH }))
      .setEncoding("utf8")
      .iterator();
    expect(JSON.parse((await lines.next()).value)).toMatchObject({ index: 1, success: false });
    nodeAnswer.resolve();
    expect(JSON.parse((await lines.next()).value)).toMatchObject({ index: 0, success: true });
    expect((await lines.next()).done).toBe(true);
  });

  it("is not used for refusals", async () => {
    const service = await services.start();
    const reply = await service.post("{}", { headers: GZIP });
    expect(reply.status).toBe(400);
    expect(reply.headers).not.toHaveProperty("content-encoding");
    expect(JSON.parse(reply.text)).toMatchObject({ error: { code: "INVALID_REQUEST" } });
  });
});

describe("gzipChunks", () => {
  it("makes one gzip stream of any chunks, which can be decoded up to each chunk", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 3_000 })), async (chunks) => {
        const plain = chunks.map((chunk) => Buffer.from(chunk));
        const made = await Readable.from(gzipChunks(Readable.from(plain))).toArray();
        expect(gunzipSync(Buffer.concat(made))).toEqual(Buffer.concat(plain));
        plain.forEach((_, i) => {
          const soFar = Buffer.concat(made.slice(0, i + 1));
          const options = { finishFlush: constants.Z_SYNC_FLUSH };
          expect(gunzipSync(soFar, options)).toEqual(Buffer.concat(plain.slice(0, i + 1)));
        });
      }),
      { numRuns: 30 },
    );
  });
});

describe("acceptsGzip", () => {
  it.each(["gzip", "deflate, gzip;q=0.5, br", "GZIP ; q=1", "x-gzip"])("is true for %s", (value) => {
    expect(acceptsGzip(value)).toBe(true);
  });

  it.each([undefined, "", "identity", "*", "gzip;q=0", "gzip; q=0.000", "gzip;q=x", "br, gzipped"])(
    "is false for %s",
    (value) => {
      expect(acceptsGzip(value)).toBe(false);
    },
  );
});
