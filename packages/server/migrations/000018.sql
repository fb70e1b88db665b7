-- The audit of all that operators do, of the secrets that a start reads, and of failed authentications. It was the audit of
-- the keys alone before.
alter table key_audit rename to audit;
alter index key_audit_of_key rename to audit_of_key;
alter trigger key_audit_only_grows on audit rename to audit_only_grows;
alter table audit
  -- The subject, where it is a key or a lane.
  alter column key_id drop not null,
  add column waiver   bytea check (octet_length(waiver) = 20),
  -- The id of the admin token, a keyed hash.
  add column token_id text,
  -- The address of the client; null for a program on the database's own machine.
  add column source   text default host(inet_client_addr());

-- Replicas of earlier versions write their entries here.
create view key_audit as select id, at, actor, action, key_id, changes from audit;

-- Entries are committed in the order of their ids, so that whoever follows the audit by the last id misses none. The lock
-- is taken before the id, and held until the commit. No other lock is taken after it.
create function order_audit() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1734433121);
  return null;
end $$;
create trigger audit_in_order before insert on audit for each statement execute function order_audit();
