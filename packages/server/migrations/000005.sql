-- The API keys (D25). A row holds what proves a key, never the key: the SHA-256 of its whole text. A key is never
-- deleted, so that its submissions and its audit keep meaning something.
create table api_keys (
  id             text        primary key check (id ~ '^[0-9a-f]{16}$'),
  env            text        not null check (env ~ '^[a-z0-9]{1,16}$'),
  label          text        not null check (length(label) between 1 and 200),
  secret_hash    bytea       not null check (octet_length(secret_hash) = 32),
  -- The secret before the last rotation is good until then.
  previous_hash  bytea       check (octet_length(previous_hash) = 32),
  previous_until timestamptz,
  created_at     timestamptz not null default now(),
  expires_at     timestamptz,
  disabled_at    timestamptz,
  revoked_at     timestamptz,
  -- Its own limits, scope and caps; what is not in it is the service's.
  terms          jsonb       not null default '{}' check (jsonb_typeof(terms) = 'object'),
  -- Of its last change, counted over all keys. Changes are made one after the other (an advisory lock), so whoever
  -- has seen a version has seen all before it.
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
  -- The values that changed, before and after; never a secret or its hash.
  changes jsonb       not null check (jsonb_typeof(changes) = 'object')
);
create index key_audit_of_key on key_audit (key_id, id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% only grows', tg_table_name;
end $$;
create trigger key_audit_only_grows before update or delete or truncate on key_audit
  for each statement execute function refuse_change();
