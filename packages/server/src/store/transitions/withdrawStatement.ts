import { LEASE_IS_HELD } from "../lanes/heldLane.js";

/**
 * A common table expression that records the wrappers of submissions that lose their waiver nonce. Such a wrapper may
 * still land from a pool that seemed to have lost it: then this lane has used the nonce, and nobody with a stolen key.
 * Or it may block the next wrapper with its nonce.
 * @param ids the submissions, as a query of their ids.
 * @param isOpen the condition under which the wrapper may still land; then its submission cannot fail yet (D28).
 */
export const withdrawing = (ids: string, isOpen = "false") => `, withdrawing as (
  insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash, open_for, since_block)
  select chain, waiver, waiver_nonce, wrapper_hash, case when ${isOpen} then id end, since_block from unfinished
  where id in (${ids}) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD}
  on conflict (chain, waiver, waiver_nonce, wrapper_hash) do update
    set open_for = coalesce(withdrawn.open_for, excluded.open_for)
)`;
