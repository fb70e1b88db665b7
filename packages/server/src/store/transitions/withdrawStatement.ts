import { LEASE_IS_HELD } from "../lanes/heldLane.js";

/**
 * A common table expression that records the wrappers of submissions that lose their waiver nonce. Such a wrapper may
 * still land from a pool that seemed to have lost it: then this lane has used the nonce, and nobody with a stolen key.
 * Or it may block the next wrapper with its nonce.
 * @param ids the submissions, as a query of their ids.
 */
export const withdrawing = (ids: string) => `, withdrawing as (
  insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash)
  select chain, waiver, waiver_nonce, wrapper_hash from unfinished
  where id in (${ids}) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD}
  on conflict do nothing
)`;

/** {@link withdrawing} for the ids in parameter $5. */
export const WITHDRAWN = withdrawing("select unnest($5::uuid[])");
