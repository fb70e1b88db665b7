-- The image runs this once, on the empty primary. psql reads the passwords from their files.
\set service_password `cat /run/secrets/database-password`
\set replication_password `cat /run/secrets/replication-password`
create role gas_waiver login password :'service_password';
grant pg_monitor to gas_waiver;
create database gas_waiver owner gas_waiver;
create role replication login replication password :'replication_password';
select pg_create_physical_replication_slot('standby', true);
-- It counts from the next start on, so that nothing here waits for a standby that is not there yet.
alter system set synchronous_standby_names = 'ANY 1 (standby)';
