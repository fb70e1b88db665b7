-- A partition gets this trigger when its day is summarized, so that an outcome that comes later is in the summary too.
create function add_late_outcome() returns trigger language plpgsql as $$
begin
  if new.state = 'included' then
    insert into sender_nonces as n (chain, sender, next, last_day)
    values (new.chain, new.sender, new.sender_nonce + 1, day_of(new.id))
    on conflict (chain, sender) do update
      set next = greatest(n.next, excluded.next), last_day = greatest(n.last_day, excluded.last_day);
    update lanes
    set old_nonce = new.waiver_nonce, old_block_number = new.block_number, old_block_hash = new.block_hash
    where chain = new.chain and waiver = new.waiver and new.waiver_nonce > coalesce(old_nonce, -1);
  end if;
  return null;
end $$;
