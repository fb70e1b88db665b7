-- A submission's effect on the caps of its key, when it leaves `unfinished`, as each does when it ends, and when it gives its
-- reservation back to wait unreserved. A submission in a block has used its gas, with a reservation or without; any other gives
-- its reservation back. Almost all rows that leave are of the recent days. The first condition has all columns of
-- an index, so that a plan that was made for an empty partition is a good one later.
create function settle_cap() returns trigger language plpgsql as $$
declare
  used         bigint;
  transactions bigint;
  gas          bigint;
begin
  if tg_op = 'DELETE' and old.id >= recent_outcomes() then
    select f.gas_used into used from finished f
    where f.id = old.id and f.chain = old.chain and f.key_id = old.key_id and f.sender = old.sender
      and f.sender_nonce = old.sender_nonce and f.state = 'included' and f.id >= recent_outcomes();
  elsif tg_op = 'DELETE' then
    select f.gas_used into used from finished f where f.id = old.id and f.state = 'included';
  end if;
  transactions := case when used is null then 0 else 1 end - case when old.cap_day is null then 0 else 1 end;
  gas := coalesce(used, 0) - case when old.cap_day is null then 0 else old.cap_gas end;
  if transactions <> 0 or gas <> 0 then
    insert into cap_outcomes (key_id, day, sender, transactions, gas)
    values (old.key_id, coalesce(old.cap_day, (clock_timestamp() at time zone 'UTC')::date), old.sender, transactions, gas);
  end if;
  return null;
end $$;
create trigger settle_cap after delete on unfinished
  for each row when (old.cap_gas is not null) execute function settle_cap();
create trigger release_cap after update of cap_day on unfinished
  for each row when (old.cap_day is not null and new.cap_day is null) execute function settle_cap();
