#include "COpenSSL.h"

#include <stdint.h>

// Called before each operation (BIO_set_callback_ex): a read that is refused here fails for good.
static long refuse_to_read(BIO *bio, int operation, const char *bytes, size_t length, int argument_int,
                           long argument_long, int result, size_t *processed) {
    if (operation != BIO_CB_READ) return result;
    BIO_clear_retry_flags(bio);
    return -1;
}

// Called for each message of the protocol (SSL_CTX_set_msg_callback), where it can only be noted.
static void count_handshake_message(int is_sent, int version, int type, const void *bytes, size_t length, SSL *ssl,
                                    void *argument) {
    if (is_sent || type != SSL3_RT_HANDSHAKE) return;
    intptr_t count = (intptr_t)SSL_get_app_data(ssl) + 1;
    SSL_set_app_data(ssl, (void *)count);
    if (count >= copenssl_handshake_messages_max) BIO_set_callback_ex(SSL_get_rbio(ssl), refuse_to_read);
}

void copenssl_limit_handshake_messages(SSL_CTX *context) {
    SSL_CTX_set_msg_callback(context, count_handshake_message);
}
