// The client's way through what the service remembers: requests by their names, submissions by their ids and in lists.
import { createWaiverClient, type ResultLine, type WaiverClient } from "@gas-waiver/client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";
import { API_KEY, account, transferOf } from "./support/user.js";

let program: Program;
let client: WaiverClient;
beforeAll(async () => {
  program = Program.gasWaiver([
    ...["dev", "--port", "0", "--rpc-port", "0", "--data-dir", freshFolder()],
    ...["--block-time", "100", "--no-demo"],
  ]);
  client = createWaiverClient({ url: (await program.ready()).url, apiKey: API_KEY });
});
afterAll(() => program?.end());

it("replays a named request, and finds its submissions again", async () => {
  const sender = account(1);
  const signed = await Promise.all(
    [0, 1, 2].map((nonce) => sender.signTransaction(transferOf(account(7).address, 1n, nonce))),
  );
  const submit = async () => {
    const lines: ResultLine[] = [];
    const options = { wait: "included", idempotencyKey: "payday", retry: { attempts: 2 } } as const;
    for await (const line of client.submit([...signed, "0x12"], options)) lines.push(line);
    return lines.sort((a, b) => a.index - b.index);
  };
  const lines = await submit();
  expect(lines.map(({ success }) => success)).toEqual([true, true, true, false]);
  expect(await submit()).toEqual(lines);
  const reused = client.submit(signed, { idempotencyKey: "payday" })[Symbol.asyncIterator]().next();
  await expect(reused).rejects.toMatchObject({ status: 422, reason: "IDEMPOTENCY_KEY_REUSED" });

  const ids: string[] = [];
  const filter = { sender: sender.address, states: ["included"] } as const;
  for await (const { id } of client.list({ ...filter, pageSize: 2 })) ids.push(id);
  expect(ids).toEqual([2, 1, 0].map((index) => lines[index]?.id));
  const [line] = lines;
  const page = await client.listPage({ txHash: line?.success ? line.txHash : "" });
  expect(page).toEqual({ submissions: [await client.status(line?.id ?? "")] });
});
