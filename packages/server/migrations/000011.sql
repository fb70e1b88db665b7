-- True while the lease belongs to a replica that only follows the lane's wrappers on the chain, because none signs for it.
alter table lanes add column watch_only boolean not null default false;
