-- Each audit has a lock of its own, so that stores in other schemas of the database do not wait for this one's entries. As before,
-- the lock is taken before the id, and held until the commit, and no other lock is taken after it.
do $$
begin
  -- An audit that has an owner of its own keeps the lock that all audits of the database share.
  if not (select pg_has_role(p.proowner, 'usage') from pg_proc p where p.oid = 'order_audit'::regproc) then
    return;
  end if;
  -- Waits for the entries that hold the earlier lock.
  lock table audit in share row exclusive mode;
  create or replace function order_audit() returns trigger language plpgsql as $order_audit$
  begin
    perform pg_advisory_xact_lock(1734433121, tg_relid::integer);
    return null;
  end $order_audit$;
end $$;
