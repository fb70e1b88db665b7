-- Every submission leaves `unfinished` when it ends, so that this trigger sees each end. A submission in a block has used its gas;
-- any other gives its reservation back. Almost all rows that leave are of the recent days. The first condition has all columns of
-- an index, so that a plan that was made for an empty partition is a good one later.
create function settle_cap() returns trigger language plpgsql as $$
declare
  used bigint;
begin
  if old.id >= recent_outcomes() then
    select f.gas_used into used from finished f
    where f.id = old.id and f.chain = old.chain and f.key_id = old.key_id and f.sender = old.sender
      and f.sender_nonce = old.sender_nonce and f.state = 'included' and f.id >= recent_outcomes();
  else
    select f.gas_used into used from finished f where f.id = old.id and f.state = 'included';
  end if;
  insert into cap_outcomes (key_id, day, sender, transactions, gas)
  values (old.key_id, old.cap_day, old.sender, case when used is null then -1 else 0 end,
          coalesce(used, 0) - old.cap_gas);
  return null;
end $$;
create trigger settle_cap after delete on unfinished
  for each row when (old.cap_day is not null) execute function settle_cap();
