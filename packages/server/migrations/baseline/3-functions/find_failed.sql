-- Finds the failed submissions among these. Each row is looked up by itself ("offset 0"): a join that was planned while a partition
-- had few rows, or none, reads all of it in each call later, until PostgreSQL counts the table again.
create function find_failed(the_chain integer, ids uuid[], key_ids text[], inner_hashes bytea[],
                                       senders bytea[])
returns table (id uuid) language plpgsql rows 1 as $$
#variable_conflict use_column
begin
  return query
    select f.id from unnest(ids, key_ids, inner_hashes, senders) n (id, key_id, inner_hash, sender) cross join lateral (
      select f.id from finished f
      where f.id = n.id and f.chain = the_chain and f.key_id = n.key_id and f.inner_hash = n.inner_hash
        and f.sender = n.sender and f.state = 'failed' and f.id >= recent_outcomes() offset 0
    ) f;
  -- The clock of the replica that made the ids, or of the database, was wrong by days.
  if recent_outcomes() > any (ids) then
    return query
      select f.id from unnest(ids, key_ids, inner_hashes, senders) n (id, key_id, inner_hash, sender) cross join lateral (
        select f.id from finished f
        where f.id = n.id and f.chain = the_chain and f.key_id = n.key_id and f.inner_hash = n.inner_hash
          and f.sender = n.sender and f.state = 'failed' and f.id < recent_outcomes() offset 0
      ) f;
  end if;
end $$;
