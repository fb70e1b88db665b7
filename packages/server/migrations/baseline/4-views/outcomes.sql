-- The final outcomes, with the values that `gas-waiver export --format csv` writes. The service makes the rest of an error from what
-- is here: its code from the reason, the message of a revert, and what it adds to the details. A day is a range of ids:
--
--   copy (select * from outcomes where id >= first_id_of('2030-01-31') and id < first_id_of('2030-02-01') order by id)
--   to stdout (format csv, header)
create view outcomes as
select id, (select chain_id from chains c where c.id = f.chain) as "chainId", key_id as "keyId", state,
       case state when 'included' then 'broadcast' else 'not_broadcast' end as certainty,
       '0x' || encode(inner_hash, 'hex') as "txHash", '0x' || encode(sender, 'hex') as sender, sender_nonce as nonce,
       '0x' || encode(target, 'hex') as target, '0x' || encode(selector, 'hex') as selector,
       iso_time(accepted_at) as "acceptedAt",
       case when waiver_nonce is not null then '0x' || encode(wrapper_hash, 'hex') end as "wrapperHash",
       case when wrapper_hash is not null and waiver_nonce is not null then '0x' || encode(waiver, 'hex') end as waiver,
       case when wrapper_hash is not null then waiver_nonce end as "waiverNonce",
       block_number as "blockNumber", '0x' || encode(block_hash, 'hex') as "blockHash", gas_used as "gasUsed",
       reverted::text as reverted,
       case when reverted then 'REVERTED' else error_reason end as "errorReason", error_message as "errorMessage",
       error_details as "errorDetails",
       iso_time(signed_at) as "signedAt", iso_time(broadcast_at) as "broadcastAt", iso_time(included_at) as "includedAt",
       case state when 'included' then iso_time(finished_at) end as "finalAt",
       case state when 'failed' then iso_time(finished_at) end as "failedAt", signings
from finished f;
