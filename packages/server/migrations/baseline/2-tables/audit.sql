-- The audit of all that operators do, of the secrets that a start reads, and of failed authentications. It only grows
-- (refuse_change), and its entries are committed in the order of their ids, which order_audit gives.
create table audit (
  id       bigint      primary key,
  at       timestamptz not null default now(),
  -- The command line and its user, or the name of an admin token.
  actor    text        not null,
  action   text        not null,
  -- The subject, where it is a key. One that is a lane has a waiver.
  key_id   text        references api_keys,
  -- The changed values, before and after. They never include a secret or its hash.
  changes  jsonb       not null check (jsonb_typeof(changes) = 'object'),
  waiver   bytea       check (octet_length(waiver) = 20),
  -- The id of the admin token, a keyed hash.
  token_id text,
  -- The address of the client; null for a program on the database's own machine.
  source   text        default host(inet_client_addr())
);
create index audit_of_key on audit (key_id, id);
