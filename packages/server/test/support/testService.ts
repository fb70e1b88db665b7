import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { type Hex, parseResultLine, type ResultLine } from "@gas-waiver/protocol";
import { afterAll, afterEach, beforeAll, type TestContext } from "vitest";
import { createServer, type Server } from "../../src/createServer.js";
import type { ServerOptions } from "../../src/model/options/options.js";
import { PATIENCE, type Patience } from "../../src/model/patience.js";
import { OPTIONS_OF_CHAIN } from "./chainProfile.js";
import { theDescription } from "./description.js";
import { CHAIN_ID, type PoolKind } from "./modelChain.js";
import { ScriptedNode } from "./scriptedNode.js";
import type { Reach } from "./testDatabases.js";
import { queryOnce, queryUntil } from "./testSessions.js";
import { useTestPostgres } from "./testStore.js";
import { APPROVE, accountsOf, TOKEN, TRANSFER, WAIVER_KEY } from "./user.js";

export const API_KEY = "gw_test_first_secret-of-the-first";
export const OTHER_API_KEY = "gw_test_other_secret-of-the-other";

/**
 * Options of a service with high limits and short intervals. `rpcTimeoutMs` and `resendAfterMs` are long, so that a busy
 * machine does not look like a silent node; a test of silence sets them. `requestTimeoutMs` and `nonceGapTimeoutMs` are nearly as long
 * as a test may take, so that no line tells of a busy machine; a test of waiting sets them.
 */
export function optionsFor(databaseUrl: string, rpcUrl: string, changes: Partial<ServerOptions> = {}) {
  return {
    chainId: CHAIN_ID,
    rpcUrl,
    waivers: accountsOf(WAIVER_KEY),
    apiKeys: [API_KEY, OTHER_API_KEY],
    ...(changes.policySource !== "registry" && {
      allowedTargets: [{ address: TOKEN, selectors: [TRANSFER, APPROVE] }],
    }),
    databaseUrl,
    ratePerSecond: 100_000,
    rateBurst: 100_000,
    readRatePerSecond: 100_000,
    readBurst: 100_000,
    rpcTimeoutMs: 10_000,
    requestTimeoutMs: 200_000,
    nonceGapTimeoutMs: 200_000,
    resendAfterMs: 600_000,
    pollIntervalMs: 20,
    leaseMs: 500,
    logLevel: "silent",
    ...OPTIONS_OF_CHAIN,
    ...changes,
  } satisfies ServerOptions;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface PostOptions {
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The columns of a submission that tests read. */
export interface Row {
  readonly id: string;
  readonly state: string;
  readonly waiver: Buffer;
  readonly waiver_nonce: string | null;
  readonly error_reason: string | null;
}

/** The node, database and options of a service. */
interface Environment {
  readonly node: ScriptedNode;
  readonly databaseUrl: string;
  /** The options that differ from those of {@link optionsFor}. */
  readonly changes: Partial<ServerOptions>;
  /** That of a service in production by default. */
  readonly patience?: Partial<Patience>;
}

/** A running service on a port, and its client. */
export class TestService {
  readonly node: ScriptedNode;
  readonly databaseUrl: string;
  readonly url: string;
  readonly server: Server;
  readonly #environment: Environment;
  readonly #clients = new Set<{ destroy(): unknown }>();
  #isOver = false;

  private constructor(server: Server, url: string, environment: Environment) {
    this.server = server;
    this.url = url;
    this.node = environment.node;
    this.databaseUrl = environment.databaseUrl;
    this.#environment = environment;
  }

  static async start(environment: Environment): Promise<TestService> {
    const { node, databaseUrl, changes } = environment;
    const patience = { ...PATIENCE, ...environment.patience };
    const server = await createServer(optionsFor(databaseUrl, node.url, changes), { patience });
    const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
    return new TestService(server, url, environment);
  }

  /** Has the client's connection cut when the test is over. */
  keep(client: { destroy(): unknown }): void {
    this.#clients.add(client);
  }

  /** Closes the service after its clients have left, so that it waits for none of them. */
  async end(): Promise<void> {
    this.#isOver = true;
    for (const client of this.#clients) client.destroy();
    await this.server.close();
  }

  /** Starts another service on the same store and node, instead of this one or beside it. */
  startReplica(changes: Partial<ServerOptions> = {}): Promise<TestService> {
    return this.startOnOtherStore(this.databaseUrl, changes);
  }

  /** Starts another service on the same node, with a store of its own. */
  startOnOtherStore(databaseUrl: string, changes: Partial<ServerOptions> = {}): Promise<TestService> {
    const environment = this.#environment;
    return TestService.start({
      ...environment,
      databaseUrl,
      changes: { ...environment.changes, ...changes },
    });
  }

  /** Sends any request. Resolves with the response when its head has arrived. */
  open(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(`${this.url}${path}`, { method, headers, agent: new Agent() }, resolve);
      // A test that is over awaits nothing any more.
      sent.on("error", (error) => this.#isOver || reject(error)).end(body);
      this.keep(sent);
      sent.once("close", () => this.#clients.delete(sent));
    });
  }

  /**
   * Sends any request, and reads the whole reply.
   * @throws if the reply is not as OpenAPI describes it.
   */
  async call(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await this.open(method, path, body, headers);
    let text = "";
    try {
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
    } catch (error) {
      if (this.#isOver) return new Promise(() => {});
      throw error;
    }
    const reply = { status: response.statusCode ?? 0, headers: response.headers, text };
    const problems = theDescription().problemsOfCall(method, path, reply);
    if (problems.length > 0) throw new Error(`${method} ${path}: ${problems.join("; ")}`);
    return reply;
  }

  /** Sends `POST /v1/submit` with a valid key and content type, unless the options have others. */
  post(body: string, { query = "", headers = {} }: PostOptions = {}): Promise<Reply> {
    return this.call("POST", `/v1/submit${query}`, body, { ...GOOD_HEADERS, ...headers });
  }

  /**
   * Submits transactions.
   * @returns the lines in the order of the request.
   * @throws if the request is refused as a whole.
   */
  async submit(transactions: readonly string[], options?: PostOptions): Promise<ResultLine[]> {
    const reply = await this.post(JSON.stringify({ transactions }), options);
    if (reply.status !== 200) throw new Error(`refused: ${reply.status} ${reply.text}`);
    return reply.text
      .trimEnd()
      .split("\n")
      .map((line) => parseResultLine(JSON.parse(line)))
      .sort((a, b) => a.index - b.index);
  }

  /** Submits transactions, and yields the lines as they come. Leaving the loop closes the connection. */
  async *stream(transactions: readonly string[], query = ""): AsyncGenerator<ResultLine> {
    const body = JSON.stringify({ transactions });
    const response = await this.open("POST", `/v1/submit${query}`, body, GOOD_HEADERS);
    let rest = "";
    for await (const chunk of response.setEncoding("utf8")) {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield parseResultLine(JSON.parse(line));
    }
  }

  /** All submissions, the oldest first. */
  rows(): Promise<Row[]> {
    return this.query<Row>(
      "select id, state, waiver, waiver_nonce, error_reason from submissions order by id",
    );
  }

  /** Runs SQL on the service's database, in a session that nothing else uses. */
  query<T = Record<string, unknown>>(sql: string, parameters?: readonly unknown[]): Promise<T[]> {
    return queryOnce<T>(this.databaseUrl, sql, parameters);
  }

  /** Resolves with the rows of the query as soon as it has any. It runs at once, and after every write to lanes or submissions. */
  until<T = Record<string, unknown>>(sql: string, parameters?: readonly unknown[]): Promise<T[]> {
    return queryUntil<T>(this.databaseUrl, sql, parameters);
  }
}

export const GOOD_HEADERS = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" };

interface Closeable {
  close(): Promise<void>;
}

interface NodeOptions {
  readonly pool?: PoolKind;
  readonly automine?: boolean;
  /** Runs before the service starts. */
  readonly prepare?: (node: ScriptedNode) => void;
}

interface ServicesOptions {
  readonly reach?: Reach;
  readonly patience?: Partial<Patience>;
}

/** Starts services with a database each. Services and nodes end with their test, the databases with the file. */
export function testServices({ reach, patience = {} }: ServicesOptions = {}) {
  const databases = useTestPostgres(reach);
  const opened: Closeable[] = [];
  const start = async (
    changes: Partial<ServerOptions>,
    { prepare, ...nodeOptions }: NodeOptions,
    add: (one: Closeable) => void,
  ) => {
    const node = await ScriptedNode.start(nodeOptions);
    add(node);
    prepare?.(node);
    const databaseUrl = await databases.createDatabase();
    const service = await TestService.start({ node, databaseUrl, changes, patience });
    add({ close: () => service.end() });
    return service;
  };
  afterEach(async () => {
    for (const serviceOrNode of opened.splice(0).reverse()) await serviceOrNode.close();
  });
  return {
    databases,
    /** Closes the service after the test. */
    closeAfterTest<T extends TestService>(service: T): T {
      opened.push({ close: () => service.end() });
      return service;
    },
    /** One service for all tests of the block, for tests that change nothing. */
    shared(changes: Partial<ServerOptions> = {}): () => TestService {
      let node: ScriptedNode | undefined;
      let service: TestService | undefined;
      beforeAll(async () => {
        node = await ScriptedNode.start();
        service = await TestService.start({
          node,
          databaseUrl: await databases.createDatabase(),
          changes,
          patience,
        });
      });
      afterAll(async () => {
        await service?.end();
        await node?.close();
      });
      return () => {
        if (service === undefined) throw new Error("the service has not been started");
        return service;
      };
    },
    /** Starts a node and a service on it, with a database of their own. */
    start(changes: Partial<ServerOptions> = {}, nodeOptions: NodeOptions = {}): Promise<TestService> {
      return start(changes, nodeOptions, (one) => opened.push(one));
    },
    /** As `start`, for a test that runs beside others: both end with their own test. */
    startIn(
      { onTestFinished }: Pick<TestContext, "onTestFinished">,
      changes: Partial<ServerOptions>,
      nodeOptions: NodeOptions = {},
    ): Promise<TestService> {
      return start(changes, nodeOptions, (one) => onTestFinished(() => one.close()));
    },
  };
}

/** A line's outcome: `success`, or its code and reason as `CODE/REASON`. */
export function outcomeOf(line: ResultLine | undefined): string {
  if (line === undefined) return "no line";
  return line.success ? "success" : `${line.error.code}/${line.error.reason}`;
}

/** The transaction hash of a successful line, or the outcome of another. */
export function txHashOf(line: ResultLine | undefined): Hex | string {
  return line?.success ? line.txHash : outcomeOf(line);
}
