import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { openLaneAdmin } from "../../src/lane/admin/admin.js";
import type { LaneState } from "../../src/store/lanes/laneStatus.js";
import type { TestService } from "./testService.js";
import { queryOnce, queryUntil } from "./testSessions.js";

/** The status of each lane, keyed by its waiver's address. */
export async function lanesOf(service: TestService) {
  const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
  const lanes = await admin.list();
  await admin.close();
  return new Map(lanes.map((lane) => [bytesToHex(lane.waiver), lane]));
}

/** Resolves when some replica holds the lease of each of these lanes. */
export async function untilOwned(service: TestService, waivers: readonly Hex[]): Promise<void> {
  for (const waiver of waivers) {
    await service.until("select from lanes where waiver = $1 and owner is not null and not watch_only", [
      hexToBytes(waiver),
    ]);
  }
}

/**
 * Sets a lane's state, and resolves when the replica that owns it has acted on it. A replica reads the state when it
 * renews the lease, and a step that it began before is over by the renewal after that.
 * @returns whether the store knows the lane.
 */
export async function setLaneState(
  { databaseUrl }: Pick<TestService, "databaseUrl">,
  waiver: Hex,
  state: LaneState,
): Promise<boolean> {
  const admin = await openLaneAdmin({ databaseUrl });
  const known = await admin.set(hexToBytes(waiver), state, "by a test");
  await admin.close();
  const id = hexToBytes(waiver);
  for (let renewals = 0; known && renewals < 2; renewals++) {
    const [lane] = await queryOnce<{ until: string }>(
      databaseUrl,
      "select lease_until::text as until from lanes where waiver = $1",
      [id],
    );
    const renewed = "select from lanes where waiver = $1 and (lease_until > $2 or state = 'retired')";
    await queryUntil(databaseUrl, renewed, [id, lane?.until]);
  }
  return known;
}
