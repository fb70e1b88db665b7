-- Keeps the audit as it was written.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% only grows', tg_table_name;
end $$;
create trigger audit_only_grows before update or delete or truncate on audit
  for each statement execute function refuse_change();
