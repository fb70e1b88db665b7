-- All submissions, for reading. A submission is in one of the two tables.
create view submissions as
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector,
       coalesce(carrier_waiver, waiver) as waiver, coalesce(carrier_nonce, waiver_nonce) as waiver_nonce, signings,
       coalesce(carrier_hash, wrapper_hash) as wrapper_hash, block_number, block_hash, gas_used, reverted,
       null::text as error_reason, null::text as error_message, accepted_at, signed_at, broadcast_at, included_at,
       null::timestamptz as finished_at, error_details
from unfinished
union all
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce, signings,
       wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason, error_message, accepted_at, signed_at,
       broadcast_at, included_at, finished_at, error_details
from finished;
