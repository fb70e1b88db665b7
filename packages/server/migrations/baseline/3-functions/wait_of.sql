-- What an unfinished submission waits for: the sentence of its lane, if the lane waits, or the name of a cause of its own
-- (model/submission/waitCauses.ts). A wrapper is in doubt when a block has a later one of its waiver. Null where it has waited for less than five seconds, or waits for nothing but its turn and a
-- block.
create function wait_of(the_id uuid) returns text language plpgsql stable as $$
declare
  u unfinished;
begin
  select * into u from unfinished where id = the_id;
  if not found or u.state = 'included' or u.accepted_at > now() - interval '5 seconds' then
    return null;
  end if;
  return coalesce(
    (select l.waits_for from lanes l where l.chain = u.chain and l.waiver = u.waiver),
    case when u.state <> 'queued' then (
           select 'in doubt' where u.waiver_nonce < greatest(
             (select max(n.waiver_nonce) from unfinished n
              where n.chain = u.chain and n.waiver = u.waiver and n.waiver_nonce > u.waiver_nonce and n.state = 'included'),
             (select max(f.waiver_nonce) from finished f
              where f.chain = u.chain and f.waiver = u.waiver and f.waiver_nonce > u.waiver_nonce
                and f.id >= recent_outcomes())))
         when not u.is_waiting then null
         when u.strikes > 0 then 'left out'
         when u.signings > 0 then 'not taken'
         else 'earlier nonce' end);
end $$;
