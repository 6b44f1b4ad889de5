#!/bin/sh
# Makes the role and the database of Madang when the server is new. Madang refuses a superuser, whom no policy holds for.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$MADANG_DB_PASSWORD" --username "${POSTGRES_USER:-postgres}" <<'END'
CREATE ROLE madang LOGIN PASSWORD :'password';
CREATE DATABASE madang OWNER madang ENCODING 'UTF8' TEMPLATE template0;
END
