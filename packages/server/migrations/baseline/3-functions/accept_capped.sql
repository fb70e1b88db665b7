-- accept() for one key with daily caps. It keeps the new submissions that fit, in the order of the request, and returns for each of
-- the others the cap that has no room and the amount in use.
create function accept_capped(the_key text, key_transactions bigint, key_gas bigint, sender_transactions bigint,
                              sender_gas bigint, gases bigint[], the_chain integer, the_origin uuid, ids uuid[],
                              inner_hashes bytea[], inner_raws bytea[], senders bytea[], nonces numeric[],
                              targets bytea[], selectors bytea[], waivers bytea[], slot_counts integer[], places float8[],
                              is_repeated boolean)
returns table (id uuid, waiver bytea, cap text, used bigint, day_ends timestamptz) language plpgsql as $$
#variable_conflict use_column
begin
  perform from accept(the_chain, the_origin, ids, array_fill(the_key, array[cardinality(ids)]), inner_hashes,
                      inner_raws, senders, nonces, targets, selectors, waivers, slot_counts, places, is_repeated);
  -- Locks the key's row only now, so that a session that holds it waits for no other submission.
  for id, waiver, cap, used, day_ends in
    select * from reserve_caps(the_key, key_transactions, key_gas, sender_transactions, sender_gas, ids, gases)
  loop
    if cap is not null then
      delete from unfinished u where u.id = accept_capped.id;
    end if;
    return next;
  end loop;
end $$;
