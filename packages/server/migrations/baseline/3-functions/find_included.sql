-- Finds the finished submissions that used nonces of senders (D18), of which there is at most one for each. Each nonce is looked up
-- by itself ("offset 0"), as in find_failed().
create function find_included(the_chain integer, senders bytea[], nonces numeric[])
returns table (id uuid, sender bytea, sender_nonce numeric, inner_hash bytea) language plpgsql rows 1 as $$
#variable_conflict use_column
begin
  return query
    select f.id, f.sender, f.sender_nonce, f.inner_hash from unnest(senders, nonces) a (sender, nonce)
    cross join lateral (
      select f.id, f.sender, f.sender_nonce, f.inner_hash from finished f
      where f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
        and f.state = 'included' and f.id >= recent_outcomes() offset 0
    ) f;
  if is_summarized(the_chain, senders, nonces) then
    return query
      select f.id, f.sender, f.sender_nonce, f.inner_hash from unnest(senders, nonces) a (sender, nonce)
      cross join lateral (
        select f.id, f.sender, f.sender_nonce, f.inner_hash from finished f
        where f.chain = the_chain and f.sender = a.sender and f.sender_nonce = a.nonce
          and f.state = 'included' and f.id < recent_outcomes() offset 0
      ) f;
  end if;
end $$;
