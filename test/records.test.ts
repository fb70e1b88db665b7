// The records of the service, through the client: replayed requests, submissions by id, and lists of submissions.
import { createWaiverClient, type ResultLine, type WaiverClient } from "@gas-waiver/client";
import { beforeAll, expect, it } from "vitest";
import { useDevService } from "./support/devService.js";
import { account, DEV_API_KEY, transferOf } from "./support/user.js";

const started = useDevService();
let client: WaiverClient;
beforeAll(() => {
  client = createWaiverClient({ url: started().url, apiKey: DEV_API_KEY });
});

it("replays a request by its Idempotency-Key, and finds its submissions by id and in lists", async () => {
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
