#include "CLibpq.h"

// Declared here rather than included: libpq is linked with OpenSSL anyway, and nothing else of it is needed.
struct ssl_st;
int SSL_pending(const struct ssl_st *ssl);

int clibpq_tls_pending(PGconn *connection) {
    const struct ssl_st *ssl = PQsslStruct(connection, "OpenSSL");
    return ssl ? SSL_pending(ssl) : 0;
}
