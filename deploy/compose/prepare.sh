#!/bin/sh
# Makes the secrets of deploy/compose.yaml in deploy/secrets, as root, since each belongs to the user that reads it:
#   deploy/compose/prepare.sh KEYSTORE PASSPHRASE-FILE [HOST-NAME]
# An existing secret stays. For clients outside, put a certificate of a public issuer into proxy-certificate.
set -e
[ -r "$1" ] && [ -r "$2" ] || { sed -n 2,4p "$0" >&2; exit 2; }
keystore=$(realpath "$1") passphrase=$(realpath "$2") name=${3:-localhost}
cd "$(dirname "$0")/.."
umask 077
mkdir -p secrets
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The users of the images: PostgreSQL's, the service's, HAProxy's and Grafana's.
postgres=999 service=10001 haproxy=99 grafana=472

keep() { # NAME USER, with the content on standard input
  [ -e "secrets/$1" ] || { cat > "secrets/$1.new"; chown "$2" "secrets/$1.new"; mv "secrets/$1.new" "secrets/$1"; }
}
certificate() { # FILE NAMES, signed by the authority in $work
  openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -subj "/CN=gas-waiver" -addext "subjectAltName=$2" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 825 -copy_extensions copy -out "$1.crt" 2>/dev/null
}

[ -e secrets/database-password ] || openssl rand -hex 24 | keep database-password "$postgres"
[ -e secrets/replication-password ] || openssl rand -hex 24 | keep replication-password "$postgres"
[ -e secrets/grafana-password ] || openssl rand -hex 24 | keep grafana-password "$grafana"
printf 'postgres://gas_waiver:%s@postgres/gas_waiver?sslmode=verify-full&sslrootcert=/run/secrets/database-ca\n' \
  "$(cat secrets/database-password)" | keep database-url "$service"
keep keystore "$service" < "$keystore"
keep passphrase "$service" < "$passphrase"
if [ ! -e secrets/database-certificate ] || [ ! -e secrets/proxy-certificate ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=gas-waiver authority" -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
  certificate "$work/database" DNS:postgres,DNS:standby
  certificate "$work/proxy" "DNS:$name"
  keep database-ca "$service" < "$work/ca.crt"
  chmod 644 secrets/database-ca
  keep database-certificate "$postgres" < "$work/database.crt"
  keep database-key "$postgres" < "$work/database.key"
  cat "$work/proxy.crt" "$work/ca.crt" "$work/proxy.key" | keep proxy-certificate "$haproxy"
fi
chmod 711 secrets
