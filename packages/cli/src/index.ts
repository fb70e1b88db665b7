import type { Dev, StartDevOptions } from "./testing/startDev.js";

export { main } from "./main.js";
export type {
  GaslessSender,
  GaslessWallet,
  LegacyTransaction,
  TestCall,
  TestReceipt,
} from "./testing/gaslessSender.js";
export type { Dev, DevServiceLimits, StartDevOptions } from "./testing/startDev.js";

/**
 * Starts a devnet with its service in this process, on free ports, with nothing that outlives it. Several may run side by side.
 * The first start on a machine makes a database, which takes seconds; later ones take less than one.
 * @throws StartError if PostgreSQL cannot start, or an error that lists the wrong options.
 * @example
 * ```ts
 * let dev: Dev;
 * beforeAll(async () => {
 *   dev = await startDev();
 * });
 * afterAll(() => dev.stop());
 *
 * it("transfers without gas", async () => {
 *   const [alice] = dev.users;
 *   const receipt = await dev.gasless(alice).send({ to: dev.token, data: calldata });
 *   expect(receipt.status).toBe("0x1");
 * });
 * ```
 */
export async function startDev(options: StartDevOptions = {}): Promise<Dev> {
  // Chain and service are not loaded for the help of a command.
  const { startDev: start } = await import("./testing/startDev.js");
  return await start(options);
}
