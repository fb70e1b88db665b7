-- What an unfinished submission waits for: the sentence of its lane, if the lane waits, or the name of a cause of its own
-- (model/submission/waitCauses.ts). Null where it has waited for less than five seconds, or waits for nothing but its turn and a
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
    case when u.state <> 'queued' or not u.is_waiting then null
         when u.strikes > 0 then 'left out'
         when u.signings > 0 then 'not taken'
         else 'earlier nonce' end);
end $$;
