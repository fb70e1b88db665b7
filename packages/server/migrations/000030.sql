-- A step of a submission writes a new version of its row. Where that is on the same page, PostgreSQL logs the bytes from the
-- first that changes to the last. So the columns stand in the order of the steps that change them, and each page has room for
-- the next versions of its rows: "broadcast" logs a state and a time, where it logged almost the whole row.
--
-- The new table is filled beside the old one, whose changes a trigger repeats in it, and then takes its place.
create table if not exists unfinished_next (
  -- Never changed.
  id             uuid             not null,
  chain          integer          not null,
  accepted_at    timestamptz      not null default now(),
  place          timestamptz,
  -- The replica that accepted it, whose clients wait for the result.
  origin         uuid             not null,
  key_id         text             not null,
  inner_hash     bytea            not null constraint unfinished_inner_hash_check check (octet_length(inner_hash) = 32),
  sender         bytea            not null constraint unfinished_sender_check check (octet_length(sender) = 20),
  sender_nonce   numeric(20)      not null,
  target         bytea            not null constraint unfinished_target_check check (octet_length(target) = 20),
  selector       bytea            constraint unfinished_selector_check check (octet_length(selector) = 4),
  inner_raw      bytea            not null,
  -- Seldom changed.
  cap_day        date,
  cap_gas        bigint,
  carrier_waiver bytea,
  carrier_nonce  bigint,
  carrier_hash   bytea,
  -- Its lane, and its place in the queue.
  waiver         bytea            not null,
  is_waiting     boolean          not null default false,
  look_at        timestamptz      not null default now(),
  -- Signed.
  signings       integer          not null default 0,
  signed_at      timestamptz,
  waiver_nonce   bigint,
  wrapper_hash   bytea,
  wrapper_raw    bytea,
  -- Each step changes the state; "broadcast" changes no other column than the next.
  state          submission_state not null default 'queued'
                                  constraint unfinished_state_check check (state <> 'failed'),
  broadcast_at   timestamptz,
  -- Its block, which a reorg may still remove.
  block_number   bigint,
  gas_used       bigint,
  included_at    timestamptz,
  reverted       boolean,
  block_hash     bytea,
  -- The cause of a revert.
  error_details  json,

  constraint unfinished_next_pkey primary key (id),
  constraint unfinished_wrapper_check check ((waiver_nonce is null) = (wrapper_raw is null)),
  constraint unfinished_in_flight_check check (state not in ('signed', 'broadcast') or waiver_nonce is not null),
  constraint unfinished_block_check check ((state = 'included') = (block_number is not null)),
  constraint unfinished_cap_check check ((cap_day is null) = (cap_gas is null))
)
with (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create unique index if not exists unfinished_next_of_sender on unfinished_next (sender, sender_nonce, (chain + 0));
create unique index if not exists unfinished_next_by_waiver_nonce on unfinished_next (chain, waiver, waiver_nonce)
  where waiver_nonce is not null;
create index if not exists unfinished_next_queued on unfinished_next (chain, waiver, key_id, is_waiting, look_at, id)
  where waiver_nonce is null;
create index if not exists unfinished_next_not_final on unfinished_next (chain, waiver, block_number)
  where block_number is not null;

create or replace function reordered(u unfinished) returns unfinished_next language sql as $$
  select u.id, u.chain, u.accepted_at, u.place, u.origin, u.key_id, u.inner_hash, u.sender, u.sender_nonce, u.target,
         u.selector, u.inner_raw, u.cap_day, u.cap_gas, u.carrier_waiver, u.carrier_nonce, u.carrier_hash, u.waiver,
         u.is_waiting, u.look_at, u.signings, u.signed_at, u.waiver_nonce, u.wrapper_hash, u.wrapper_raw, u.state,
         u.broadcast_at, u.block_number, u.gas_used, u.included_at, u.reverted, u.block_hash, u.error_details
$$;
create or replace function repeat_change() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from unfinished_next where id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into unfinished_next select r.* from reordered(new) r;
  end if;
  return null;
end $$;
create or replace trigger repeat_change after insert or update or delete on unfinished
  for each row execute function repeat_change();

-- then
-- Waits for nobody: the trigger repeats the changes of those who hold a row now. Changes of the copied rows wait for the end
-- of this statement, and so no row comes back that was deleted meanwhile.
insert into unfinished_next
select (reordered(u)).* from unfinished u for no key update of u skip locked
on conflict do nothing;
analyze unfinished_next;

-- then
create or replace view submissions as
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector,
       coalesce(carrier_waiver, waiver) as waiver, coalesce(carrier_nonce, waiver_nonce) as waiver_nonce, signings,
       coalesce(carrier_hash, wrapper_hash) as wrapper_hash, block_number, block_hash, gas_used, reverted,
       null::text as error_reason,
       null::text as error_message, accepted_at, signed_at, broadcast_at, included_at,
       null::timestamptz as finished_at, error_details
from unfinished_next
union all
select id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce, signings,
       wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason,
       error_message, accepted_at, signed_at, broadcast_at, included_at,
       finished_at, error_details
from finished;
lock table unfinished in access exclusive mode;
-- Rows that were locked by somebody who did not change them.
insert into unfinished_next
select (reordered(u)).* from unfinished u
where u.id in (select id from unfinished except select id from unfinished_next);

do $$
declare
  held record;
begin
  for held in
    select privilege_type, is_grantable, case when grantee = 0 then 'public' else grantee::regrole::text end as grantee
    from pg_class, aclexplode(relacl)
    where oid = 'unfinished'::regclass and grantee <> relowner
  loop
    execute format('grant %s on unfinished_next to %s%s', held.privilege_type, held.grantee,
                   case when held.is_grantable then ' with grant option' else '' end);
  end loop;
end $$;
drop trigger repeat_change on unfinished;
drop function repeat_change();
drop function reordered(unfinished);
drop table unfinished;
alter table unfinished_next rename to unfinished;
alter table unfinished rename constraint unfinished_next_pkey to unfinished_pkey;
alter index unfinished_next_of_sender rename to unfinished_of_sender;
alter index unfinished_next_by_waiver_nonce rename to unfinished_by_waiver_nonce;
alter index unfinished_next_queued rename to unfinished_queued;
alter index unfinished_next_not_final rename to unfinished_not_final;
create trigger settle_cap after delete on unfinished
  for each row when (old.cap_day is not null) execute function settle_cap();
