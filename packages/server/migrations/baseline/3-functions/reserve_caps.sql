-- Reserves, for submissions of one key, what they take of its daily caps; null is no cap. It counts those that fit, in the order of
-- the ids, and returns for each of the others the cap that has no room and the amount in use. They stay as they are.
--
-- gases: the gas limits of new submissions, whose rows do not have them yet. Null for submissions that waited unreserved. A write
-- that is repeated because its answer was lost finds the gas of what it reserved, also where that waits unreserved by now.
--
-- Its cost grows neither with the senders that the key has had in the day nor with the dead rows of a transaction that stays
-- open, and it takes a fixed number of statements where the whole group fits. Each row is looked up by itself ("offset 0" and
-- "on conflict"): a join, whose plan was made while the tables were small, read all senders of the day for each submission.
create function reserve_caps(the_key text, key_transactions bigint, key_gas bigint, sender_transactions bigint,
                             sender_gas bigint, ids uuid[], gases bigint[])
returns table (id uuid, waiver bytea, cap text, used bigint, day_ends timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
  today     date;
  all_used  cap_usage;
  its_used  cap_usage;
  reserved  cap_reserved;
  is_new    boolean := gases is not null;
  given     record;
  applicant record;
  group_transactions bigint;
  group_gas bigint;
  fits      boolean;
  begun_at  timestamptz;
  -- The outcomes are taken in by this write, which then changes the row of the key.
  sums_up   boolean;
  is_summed boolean := false;
begin
  if not is_new then
    -- Another session may end a submission that waits.
    perform from unfinished u where u.id = any (ids) order by u.id for no key update;
  end if;
  today := (clock_timestamp() at time zone 'UTC')::date;
  day_ends := (today + 1)::timestamp at time zone 'UTC';
  select c.* into all_used from cap_usage c
  where c.key_id = the_key and c.day = today and c.sender = '' for update;
  if not found then
    insert into cap_usage (key_id, day, sender) values (the_key, today, '') on conflict do nothing;
    select c.* into all_used from cap_usage c
    where c.key_id = the_key and c.day = today and c.sender = '' for update;
  end if;
  select r.* into reserved from cap_reserved r
  where r.key_id = the_key and r.day = today order by r.version desc limit 1;
  all_used.transactions := all_used.transactions + coalesce(reserved.transactions, 0);
  all_used.gas := all_used.gas + coalesce(reserved.gas, 0);
  begun_at := clock_timestamp();
  sums_up := all_used.sum_at is null or all_used.sum_at <= begun_at;

  loop
    if sums_up then
      select t.transactions, t.gas into given from take_cap_outcomes(the_key, today) t;
      all_used.transactions := all_used.transactions + given.transactions;
      all_used.gas := all_used.gas + given.gas;
      -- Walking over many dead outcomes takes at most a twentieth of the time.
      all_used.sum_at := clock_timestamp() + greatest(interval '1 second', 20 * (clock_timestamp() - begun_at));
      is_summed := true;
    end if;
    -- Usually the whole group fits under all caps, and so each of it does. It takes a few statements then, not three for each.
    with added as (
      select u.sender, coalesce(a.gas, u.cap_gas) as gas from unnest(ids, gases) as a (id, gas) cross join lateral (
        select u.sender, u.cap_day, u.cap_gas from unfinished u where u.id = a.id offset 0
      ) u where u.cap_day is null and (u.cap_gas is null) = is_new
    ), of_senders as (
      select a.sender, count(*) as transactions, sum(a.gas) as gas from added a group by a.sender
    )
    select coalesce(sum(s.transactions), 0), coalesce(sum(s.gas), 0),
      coalesce(bool_and(coalesce(coalesce(c.transactions, 0) + s.transactions <= sender_transactions, true)
                        and coalesce(coalesce(c.gas, 0) + s.gas <= sender_gas, true)), true)
    into group_transactions, group_gas, fits
    from of_senders s
    left join lateral (
      select c.transactions, c.gas from cap_usage c
      where c.key_id = the_key and c.day = today and c.sender = s.sender offset 0
    ) c on true;
    fits := fits and coalesce(all_used.transactions + group_transactions <= key_transactions, true)
                 and coalesce(all_used.gas + group_gas <= key_gas, true);
    exit when fits or is_summed;
    -- Nothing is refused for what outcomes have given back.
    sums_up := true;
  end loop;

  if fits then
    insert into cap_usage as c (key_id, day, sender, transactions, gas)
    select the_key, today, u.sender, count(*), sum(coalesce(a.gas, u.cap_gas))
    from unnest(ids, gases) as a (id, gas) cross join lateral (
      select u.sender, u.cap_day, u.cap_gas from unfinished u where u.id = a.id offset 0
    ) u where u.cap_day is null and (u.cap_gas is null) = is_new group by u.sender
    on conflict (key_id, day, sender)
      do update set transactions = c.transactions + excluded.transactions, gas = c.gas + excluded.gas;
    update unfinished u set cap_day = today, cap_gas = coalesce(gases[array_position(ids, u.id)], u.cap_gas)
    where u.id = any (ids) and u.cap_day is null and (u.cap_gas is null) = is_new;
    all_used.transactions := all_used.transactions + group_transactions;
    all_used.gas := all_used.gas + group_gas;
    return query
      select u.id, u.waiver, null::text, null::bigint, day_ends
      from unnest(ids) with ordinality as a (id, place) cross join lateral (
        select u.id, u.waiver from unfinished u where u.id = a.id offset 0
      ) u order by a.place;
  else
    group_transactions := 0;
    group_gas := 0;
    for applicant in
      select u.id, u.waiver, u.sender, coalesce(a.gas, u.cap_gas) as gas,
             u.cap_day is null and (u.cap_gas is null) = is_new as is_counted
      from unnest(ids, gases) with ordinality as a (id, gas, place) cross join lateral (
        select u.id, u.waiver, u.sender, u.cap_day, u.cap_gas from unfinished u where u.id = a.id offset 0
      ) u order by a.place
    loop
      id := applicant.id;
      waiver := applicant.waiver;
      cap := null;
      used := null;
      if applicant.is_counted then
        select c.* into its_used from cap_usage c
        where c.key_id = the_key and c.day = today and c.sender = applicant.sender;
        if all_used.transactions + 1 > key_transactions then
          cap := 'transactions';
          used := all_used.transactions;
        elsif all_used.gas + applicant.gas > key_gas then
          cap := 'gas';
          used := all_used.gas;
        elsif coalesce(its_used.transactions, 0) + 1 > sender_transactions then
          cap := 'senderTransactions';
          used := coalesce(its_used.transactions, 0);
        elsif coalesce(its_used.gas, 0) + applicant.gas > sender_gas then
          cap := 'senderGas';
          used := coalesce(its_used.gas, 0);
        end if;
        if cap is null then
          group_transactions := group_transactions + 1;
          group_gas := group_gas + applicant.gas;
          all_used.transactions := all_used.transactions + 1;
          all_used.gas := all_used.gas + applicant.gas;
          insert into cap_usage as c (key_id, day, sender, transactions, gas)
          values (the_key, today, applicant.sender, 1, applicant.gas)
          on conflict (key_id, day, sender)
            do update set transactions = c.transactions + 1, gas = c.gas + excluded.gas;
          update unfinished u set cap_day = today, cap_gas = applicant.gas where u.id = applicant.id;
        end if;
      end if;
      return next;
    end loop;
  end if;

  if is_summed then
    update cap_usage c
    set transactions = all_used.transactions, gas = all_used.gas, sum_at = all_used.sum_at
    where c.key_id = the_key and c.day = today and c.sender = '';
  end if;
  if is_summed or group_transactions > 0 then
    insert into cap_reserved (key_id, day, version, transactions, gas)
    values (the_key, today, coalesce(reserved.version, 0) + 1,
            case when is_summed then 0 else coalesce(reserved.transactions, 0) + group_transactions end,
            case when is_summed then 0 else coalesce(reserved.gas, 0) + group_gas end);
    delete from cap_reserved r where r.key_id = the_key and r.day = today and r.version = reserved.version;
  end if;
end $$;
