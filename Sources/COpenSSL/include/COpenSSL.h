// OpenSSL 3, with the macros that Swift cannot call as inline functions of the same meaning.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline int copenssl_set_min_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline int copenssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}
static inline long copenssl_set_context_mode(SSL_CTX *context, long mode) { return SSL_CTX_set_mode(context, mode); }
static inline long copenssl_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}
static inline int copenssl_set_groups(SSL_CTX *context, const char *groups) {
    return (int)SSL_CTX_set1_groups_list(context, groups);
}
/// `SSL_CTX_set_options`: the server's order of ciphers but for clients that put ChaCha20 first; no renegotiation.
static inline void copenssl_set_server_options(SSL_CTX *context) {
    SSL_CTX_set_options(
        context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA | SSL_OP_NO_RENEGOTIATION);
}
/// Has each session of the context break off after this many handshake messages of its peer, in all its life: one read
/// goes on for as long as such messages come, and a peer that sends nothing else would have the thread to itself. The
/// handshake itself has up to six, and keys are changed (RFC 8446 §4.6.3) after gigabytes. Uses `SSL_set_app_data`.
void copenssl_limit_handshake_messages(SSL_CTX *context);
enum { copenssl_handshake_messages_max = 64 };
static inline int copenssl_is_ip_address(const char *name) {
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(name);
    ASN1_OCTET_STRING_free(address);
    return address != NULL;
}
