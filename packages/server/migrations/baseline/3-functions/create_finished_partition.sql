-- Makes the table of a partition. It is attached empty, under a lock that neither reading nor writing waits for.
create function attach_finished_partition(name text, first_id uuid, end_id uuid) returns void language plpgsql as $$
begin
  execute format($sql$
    create table %1$I (like finished including defaults including constraints, primary key (id));
    -- D18: an included InnerTx is found by its sender and nonce.
    create unique index %2$I on %1$I (chain, sender, sender_nonce) where state = 'included';
    create index %3$I on %1$I (chain, waiver, waiver_nonce) where waiver_nonce is not null;
    create index %4$I on %1$I (chain, key_id, state, id);
    create index %5$I on %1$I using hash (inner_hash) where state = 'included';
    -- The key stands behind: operators look up a hash or a sender of any key.
    create index %6$I on %1$I (chain, inner_hash, key_id, id) where state = 'failed';
    create index %7$I on %1$I (chain, sender, key_id, id) where state = 'failed';
    alter table finished attach partition %1$I for values from (%8$L) to (%9$L)
  $sql$, name, name || '_by_sender', name || '_by_waiver_nonce', name || '_by_key', name || '_by_inner',
    name || '_failed_by_inner', name || '_failed_by_sender', first_id, end_id);
end $$;

-- Makes one partition for some days.
create function create_finished_partition(first_day date, last_day date) returns void language plpgsql as $$
declare
  name text := 'finished_' || to_char(last_day, 'YYYYMMDD');
begin
  perform attach_finished_partition(name, first_id_of(first_day), first_id_of(last_day + 1));
  insert into finished_days (day, partition, first_id, end_id)
  values (last_day, name, first_id_of(first_day), first_id_of(last_day + 1));
  update finished_range set end_id = first_id_of(last_day + 1);
end $$;
