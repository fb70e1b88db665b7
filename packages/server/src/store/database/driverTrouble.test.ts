import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext, TLSSocket } from "node:tls";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { makeCertificate } from "../../../test/support/certificate.js";
import { Pool } from "./database.js";
import { StoreUnavailableError, troubleOf } from "./storeTrouble.js";

// Servers that speak PostgreSQL's protocol wrongly, or TLS with a certificate that nobody should trust.

const servers: Server[] = [];
const sockets: Socket[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.push(socket);
    onConnection(socket.on("error", () => {}));
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** Connects and runs a statement. @returns what went wrong. */
async function failureAt(connectionString: string): Promise<unknown> {
  const pool = new Pool({ connectionString, maxConnections: 1, connectTimeoutMs: 400, answerTimeoutMs: 400 });
  const failure = await pool.query("select 1").catch((error: unknown) => error);
  await pool.end();
  return failure;
}

/** A message of the server: its type, its length, and the rest. */
function message(type: string, content: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(type), length, content]);
}

const text = (...parts: readonly string[]) => Buffer.from(parts.map((part) => `${part}\0`).join(""));
const errorResponse = (sqlState: string, routine = "errfinish") =>
  message("E", Buffer.concat([text("SERROR", `C${sqlState}`, "Mrefused", `R${routine}`), Buffer.alloc(1)]));
const AUTHENTICATED = message("R", Buffer.alloc(4));
const READY = message("Z", Buffer.from("I"));

describe("a connection by TLS", () => {
  /** A server with this certificate, or one that answers the wish for TLS with a byte of its own. */
  const tlsServer = (answer: string, certificate = makeCertificate({ names: ["localhost"] })) =>
    listen((socket) =>
      socket.once("data", () => {
        socket.write(answer);
        if (answer !== "S") return;
        const tls = new TLSSocket(socket, {
          isServer: true,
          secureContext: createSecureContext(certificate),
        });
        tls.on("error", () => {});
      }),
    );
  const trusting = (port: number, cert: string, host = "localhost") => {
    const folder = mkdtempSync(join(tmpdir(), "gas-waiver-tls-"));
    folders.push(folder);
    const file = join(folder, "ca.pem");
    writeFileSync(file, cert);
    return `postgres://u@${host}:${port}/d?sslmode=verify-full&sslrootcert=${file}`;
  };

  it("is trouble where the certificate has ended, is not valid yet, or is for another name", async () => {
    const day = 86_400_000;
    const now = Date.now();
    for (const options of [
      { names: ["localhost"], validFrom: new Date(now - 2 * day), validTo: new Date(now - day) },
      { names: ["localhost"], validFrom: new Date(now + day) },
      { names: ["database.example.com"] },
    ]) {
      const certificate = makeCertificate(options);
      const port = await tlsServer("S", certificate);
      expect(troubleOf(await failureAt(trusting(port, certificate.cert)))?.kind).toBe("tls");
    }
  });

  it("is trouble where the authority is unknown, where the server has no TLS, or answers something else", async () => {
    for (const answer of ["S", "N", "?"]) {
      const port = await tlsServer(answer);
      const failure = await failureAt(`postgres://u@127.0.0.1:${port}/d?sslmode=verify-full`);
      expect(troubleOf(failure)?.kind).toBe("tls");
    }
  });
});

it("says that a name leads nowhere", async () => {
  const failure = await failureAt("postgres://u@database.invalid:5432/d?sslmode=disable");
  expect(troubleOf(failure)?.kind).toBe("name");
});

/** An answer to what the client has sent, and whether the server hangs up then. */
const reply = fc.record({
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    // Zeros end each text: without one, the driver looks for it for ever.
    fc
      .tuple(fc.constantFrom(..."RSKZTDCEN12snIAGHWdt3vV"), fc.uint8Array({ maxLength: 24 }))
      .map(([type, content]) => message(type, Buffer.concat([content, Buffer.alloc(16)]))),
    fc.stringMatching(/^[0-9A-Z]{5}$/).map(errorResponse),
    fc.constantFrom(AUTHENTICATED, Buffer.concat([AUTHENTICATED, READY])),
    // The kinds of login: a password as it is, by MD5, by SASL, and some that nobody has.
    fc.integer({ min: 1, max: 20 }).map((kind) => {
      const content = Buffer.alloc(12);
      content.writeInt32BE(kind);
      return message("R", content);
    }),
  ),
  hangsUp: fc.boolean(),
});

describe("whatever a server answers", () => {
  it("until the connection is open, is trouble of the store", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(reply, { minLength: 1, maxLength: 4 }), async (replies) => {
        // A server that lets everybody in is no trouble.
        const isOpen = replies.some(({ bytes }) => bytes.includes(READY) || bytes[0] === READY[0]);
        const port = await listen((socket) => {
          let turn = 0;
          socket.on("data", () => {
            const next = replies[turn++];
            if (next === undefined || isOpen) return socket.destroy();
            const isLast = next.hangsUp || turn === replies.length;
            return isLast ? socket.end(next.bytes) : socket.write(next.bytes);
          });
        });
        const failure = await failureAt(`postgres://u:p@127.0.0.1:${port}/d?sslmode=disable`);
        expect(failure).toBeInstanceOf(StoreUnavailableError);
      }),
      { numRuns: 60 },
    );
  });

  it("to a statement, is trouble unless it refuses the statement in PostgreSQL's words", async () => {
    await fc.assert(
      fc.asyncProperty(
        reply,
        fc.constantFrom("42601", "22012", "P0001", undefined),
        async (next, refusal) => {
          const port = await listen((socket) => {
            let turn = 0;
            socket.on("data", () => {
              if (turn++ === 0) return socket.write(Buffer.concat([AUTHENTICATED, READY]));
              if (refusal) return socket.write(Buffer.concat([errorResponse(refusal), READY]));
              return next.hangsUp ? socket.end(next.bytes) : socket.end(next.bytes.subarray(0, -1));
            });
          });
          const failure = await failureAt(`postgres://u@127.0.0.1:${port}/d?sslmode=disable`);
          if (refusal) expect(failure).toMatchObject({ code: refusal });
          else if (failure instanceof Error && !("code" in failure))
            expect(failure).toBeInstanceOf(StoreUnavailableError);
        },
      ),
      { numRuns: 60 },
    );
  });
});

it.each([
  ["53200", "LockAcquireExtended", "locks"],
  ["53200", "AllocSetAlloc", "full"],
  ["54000", "GetNewTransactionId", "wraparound"],
  ["54000", "GetNewMultiXactId", "wraparound"],
  // A value is too long for an index.
  ["54000", "index_form_tuple_context", undefined],
])("a statement that fails with %s in %s meets the trouble %s", async (sqlState, routine, kind) => {
  const port = await listen((socket) => {
    let turn = 0;
    socket.on("data", () => {
      const isLogin = turn++ === 0;
      socket.write(Buffer.concat([isLogin ? AUTHENTICATED : errorResponse(sqlState, routine), READY]));
    });
  });
  expect(troubleOf(await failureAt(`postgres://u@127.0.0.1:${port}/d?sslmode=disable`))?.kind).toBe(kind);
});
