// libpq, PostgreSQL's C library, from Debian's libpq-dev.
#pragma once

#include <postgresql/libpq-fe.h>

/// Bytes that OpenSSL has decrypted and libpq has not fetched yet (`SSL_pending`); 0 without TLS.
int clibpq_tls_pending(PGconn *connection);
