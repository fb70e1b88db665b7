// The causes of reverts (D13, D16): taken once by the service, told in the line and in the record.
import { detailsOf, type Hex, type ResultLine, type SubmissionRecord } from "@gas-waiver/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { deferred } from "../support/deferred.js";
import { RefusedByNode } from "../support/modelChain.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { GOOD_HEADERS, TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, TOKEN, userAddress } from "../support/user.js";

const services = testServices({ patience: { causeMs: 60_000 } });
const hasty = testServices({ patience: { causeMs: 1 } });

const INCLUDED = { query: "?wait=included" };
/** Error("no tokens left"). */
const TEXT_DATA: Hex = `0x08c379a0${"20".padStart(64, "0")}${"0e".padStart(64, "0")}${Buffer.from("no tokens left").toString("hex").padEnd(64, "0")}`;
const PANIC_DATA: Hex = `0x4e487b71${"11".padStart(64, "0")}`;
const CUSTOM_DATA: Hex = `0xdeadbeef${"2a".padStart(64, "0")}`;

function revertedWith(data: Hex): never {
  throw new RefusedByNode("execution reverted", "reverted", { data });
}

function refuse(message: string): never {
  throw new RefusedByNode(message);
}

const causeOf = (line: ResultLine | undefined) =>
  line?.success === false ? detailsOf(line.error, "REVERTED") : undefined;

async function recordOf(service: TestService, id: string | undefined): Promise<SubmissionRecord> {
  const reply = await service.call("GET", `/v1/submissions/${id}`, undefined, GOOD_HEADERS);
  return JSON.parse(reply.text) as SubmissionRecord;
}

describe("the cause of a revert", () => {
  it("is what a call on the parent block gives, in the line and in the record, and is asked for once", async () => {
    const service = await services.start();
    const { node } = service;
    const answers = new Map([
      [userAddress(1), () => revertedWith(TEXT_DATA)],
      [userAddress(2), () => revertedWith(PANIC_DATA)],
      [userAddress(3), () => revertedWith(CUSTOM_DATA)],
      [userAddress(4), () => refuse("execution reverted")],
      [userAddress(5), () => refuse("out of gas: gas required exceeds: 100000")],
      [userAddress(6), () => refuse("invalid opcode: opcode 0xfe not defined")],
    ]);
    const calls: unknown[] = [];
    node.answers.eth_call = (params) => {
      calls.push(params);
      return answers.get((params[0] as { from: Hex }).from)?.();
    };
    const inners = [1, 2, 3, 4, 5, 6].map((user) => innerOf(user));
    for (const inner of inners) node.chain.reverting.add(hashOf(inner));
    await service.submit(inners, INCLUDED);
    await service.until("select 1 from submissions having count(error_details->>'cause') = 6");
    // D18: the same transactions have the same outcome, from the store by now.
    const lines = (await service.submit(inners, INCLUDED)).sort((a, b) => a.index - b.index);
    const ofEach = { retry: "corrected", gasUsed: "50000", gasLimit: "100000", causeFrom: "call" };
    const messages = lines.map((line) => (line.success ? "" : line.error.message));
    expect(messages[0]).toContain("reverted (no tokens left)");
    expect(lines.map(causeOf)).toEqual([
      { ...ofEach, ...placeOf(inners[0]), cause: "error", causeMessage: "no tokens left" },
      {
        ...ofEach,
        ...placeOf(inners[1]),
        cause: "panic",
        panic: "0x11",
        causeMessage: expect.stringContaining("an arithmetic overflow"),
      },
      {
        ...ofEach,
        ...placeOf(inners[2]),
        cause: "custom",
        revertData: CUSTOM_DATA,
        causeMessage: expect.stringContaining("0xdeadbeef"),
      },
      { ...ofEach, ...placeOf(inners[3]), cause: "empty", causeMessage: "without a reason" },
      {
        ...ofEach,
        ...placeOf(inners[4]),
        cause: "out_of_gas",
        causeMessage: "out of gas, with a gas limit of 100000",
      },
      { ...ofEach, ...placeOf(inners[5]), cause: "halted", causeMessage: expect.stringContaining("0xfe") },
    ]);
    for (const line of lines) {
      const record = await recordOf(service, line.id);
      expect(record).toMatchObject({ state: "included", reverted: true });
      expect(record.error).toEqual(line.success ? undefined : line.error);
    }
    expect(calls).toHaveLength(inners.length);
    const call = { to: `0x${Buffer.from(TOKEN).toString("hex")}`, gas: "0x186a0", gasPrice: "0x0" };
    expect(calls).toContainEqual([expect.objectContaining(call), "0x0"]);
  });

  it("is the trace's where the call alone succeeds, or where the node has no state of the block before", async () => {
    const service = await services.start();
    const { node } = service;
    node.answers.eth_call = ([call]) =>
      (call as { from: Hex }).from === userAddress(1) ? "0x" : refuse("missing trie node");
    node.answers.debug_traceTransaction = () => ({ error: "execution reverted", output: TEXT_DATA });
    for (const user of [1, 2]) {
      const inner = innerOf(user);
      node.chain.reverting.add(hashOf(inner));
      const [line] = await service.submit([inner], INCLUDED);
      await service.until(`select 1 from submissions where id = '${line?.id}' and error_details is not null`);
      const { error } = await recordOf(service, line?.id);
      expect(error?.details).toMatchObject({ causeMessage: "no tokens left", causeFrom: "trace" });
    }
  });

  it("is left out where no node can run the transaction again", async () => {
    const service = await services.start();
    const inner = innerOf(1);
    service.node.chain.reverting.add(hashOf(inner));
    const [line] = await service.submit([inner], INCLUDED);
    await service.until("select 1 from submissions where error_details is not null");
    expect((await recordOf(service, line?.id)).error?.details).toEqual({
      retry: "corrected",
      ...placeOf(inner),
      gasUsed: "50000",
      gasLimit: "100000",
    });
  });

  it("leaves the lanes their node, although that asks for silence when it is asked for causes", async () => {
    const node = await ScriptedNode.start();
    const other = await ScriptedNode.start({ chain: node.chain });
    onTestFinished(async () => void (await Promise.all([node.close(), other.close()])));
    const databaseUrl = await services.databases.createDatabase();
    const changes = { rpcUrl: [node.url, other.url] };
    const service = await TestService.start({ node, databaseUrl, changes, patience: { causeMs: 60_000 } });
    onTestFinished(() => service.end());
    let asked = 0;
    node.script = ({ methods }) => {
      if (!methods.includes("eth_call")) return undefined;
      asked++;
      return { kind: "answer", status: 429, body: "", headers: { "retry-after": "50" } };
    };
    other.answers.eth_call = () => revertedWith(TEXT_DATA);
    node.chain.reverting.add(hashOf(innerOf(1)));
    expect(causeOf((await service.submit([innerOf(1)], INCLUDED))[0])).toMatchObject({ cause: "error" });
    await service.submit([innerOf(2)], INCLUDED);
    expect([asked, node.sent.length, other.sent.length]).toEqual([1, 2, 0]);
  });

  it("delays neither the outcome nor another's, and no line for good, while a node gives no answer", async () => {
    const service = await hasty.start();
    const { node } = service;
    const answer = deferred();
    node.script = ({ methods }) =>
      methods.includes("eth_call") ? { kind: "later", after: answer.promise } : undefined;
    node.answers.eth_call = () => revertedWith(TEXT_DATA);
    const [reverting, good] = [innerOf(1), innerOf(2)];
    node.chain.reverting.add(hashOf(reverting));
    const lines = service.stream([reverting, good], INCLUDED.query);
    // The line of the other one does not wait for the cause, and the outcome of the first is stored by then.
    expect((await lines.next()).value).toMatchObject({ index: 1, success: true });
    expect(await service.rows()).toMatchObject([{ state: "included" }, { state: "included" }]);
    const { value: line } = await lines.next();
    expect(causeOf(line)).toEqual({ retry: "corrected", ...placeOf(reverting), gasUsed: "50000" });
    answer.resolve();
    // The cause that came late is in the record.
    await service.until("select 1 from submissions where error_details->>'causeMessage' = 'no tokens left'");
    expect((await recordOf(service, line?.id)).error?.details).toMatchObject({ cause: "error" });
  });

  it("stays with a submission whose block becomes final later, and goes with a block that a reorg takes", async () => {
    const service = await services.start({ reorgDepth: 2 }, { automine: false });
    const { node } = service;
    node.answers.eth_call = () => revertedWith(TEXT_DATA);
    const inner = innerOf(1);
    node.chain.reverting.add(hashOf(inner));
    const [{ id } = { id: "" }] = await service.submit([inner]);
    node.mine();
    const withCause = "error_details->>'cause' = 'error'";
    await service.until(`select 1 from unfinished where state = 'included' and ${withCause}`);
    node.chain.reverting.clear();
    node.chain.reorg(1, true);
    node.mine();
    await service.until("select 1 from unfinished where not reverted and error_details is null");
    expect((await recordOf(service, id)).error).toBeUndefined();
    const second = innerOf(2);
    node.chain.reverting.add(hashOf(second));
    const [later] = await service.submit([second]);
    node.mine();
    await service.until(`select 1 from unfinished where ${withCause}`);
    node.mine();
    node.mine();
    await service.until(`select 1 from finished where id = '${later?.id}' and ${withCause}`);
    expect((await recordOf(service, later?.id)).error?.details).toMatchObject({
      causeMessage: "no tokens left",
    });
  });
});

function placeOf(inner: Hex | undefined) {
  return { txHash: hashOf(inner ?? "0x"), blockNumber: "1" };
}
