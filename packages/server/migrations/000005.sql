-- The API keys (D25). A row has the SHA-256 of the whole key, never the key itself. A key is never
-- deleted, so that its submissions and its audit keep meaning something.
create table api_keys (
  id             text        primary key check (id ~ '^[0-9a-f]{16}$'),
  env            text        not null check (env ~ '^[a-z0-9]{1,16}$'),
  label          text        not null check (length(label) between 1 and 200),
  secret_hash    bytea       not null check (octet_length(secret_hash) = 32),
  -- The end of the time in which the key before the last rotation is accepted.
  previous_hash  bytea       check (octet_length(previous_hash) = 32),
  previous_until timestamptz,
  created_at     timestamptz not null default now(),
  expires_at     timestamptz,
  disabled_at    timestamptz,
  revoked_at     timestamptz,
  -- The limits, scope and caps that are set for the key. The service's limits hold for the rest.
  terms          jsonb       not null default '{}' check (jsonb_typeof(terms) = 'object'),
  -- The number of the last change, counted over all keys. An advisory lock puts changes in order, so a replica that has
  -- read a version has read all versions before it.
  version        bigint      not null unique,

  check ((previous_hash is null) = (previous_until is null))
);

create table key_audit (
  id      bigint      generated always as identity primary key,
  at      timestamptz not null default now(),
  -- The command line and its user, or the name of an admin token.
  actor   text        not null,
  action  text        not null,
  key_id  text        not null references api_keys,
  -- The changed values, before and after. They never include a secret or its hash.
  changes jsonb       not null check (jsonb_typeof(changes) = 'object')
);
create index key_audit_of_key on key_audit (key_id, id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% only grows', tg_table_name;
end $$;
create trigger key_audit_only_grows before update or delete or truncate on key_audit
  for each statement execute function refuse_change();
