import { expect, it } from "vitest";
import { TestToken, WaiverRegistry } from "./artifacts.js";

interface Compiled {
  readonly bytecode: string;
  readonly runtimeBytecode: string;
  readonly slots: Record<string, number>;
  readonly abi: readonly unknown[];
}

it("the committed contracts equal what their sources compile to", async () => {
  const script = new URL("../../contracts/compile.mjs", import.meta.url).href;
  const { compile } = (await import(script)) as { compile(): Promise<Record<string, Compiled>> };
  const compiled = await compile();
  expect(Object.keys(compiled)).toEqual(["TestToken", "WaiverRegistry"]);
  expect(TestToken).toEqual(compiled.TestToken);
  expect(WaiverRegistry).toEqual(compiled.WaiverRegistry);
}, 120_000);
