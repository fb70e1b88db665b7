-- Gives the entries their ids, and has them committed in that order, so that whoever follows the audit by the last id misses none.
-- The lock is taken before the id, and held until the commit. No other lock is taken after it. Each audit has a lock of its own, so
-- that stores in other schemas of the database do not wait for this one's entries.
create function order_audit() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1734433121, tg_relid::integer);
  new.id := (select coalesce(max(a.id), 0) + 1 from audit a);
  return new;
end $$;
create trigger audit_in_order before insert on audit for each row execute function order_audit();
