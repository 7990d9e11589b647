import COpenSSL

/// One end of one TLS connection, driven by attempts that never block. Wraps `SSL`.
public final class TLSSession {
    private let ssl: OpaquePointer
    /// OpenSSL must not be called again after a fatal error (SSL_get_error's manual page).
    private var isBroken = false

    /// The client's end. The server has to prove that it is `host` (a name or a numeric address), by a certificate
    /// that the context trusts (RFC 9110 §4.3.4).
    public init(client context: TLSContext, host: String, resuming ticket: TLSTicket? = nil) throws(StreamError) {
        ssl = try Self.new(context)
        SSL_set_connect_state(ssl)
        // One read takes a whole answer off the socket, not first the head of a record and then its rest. What is left
        // in OpenSSL's buffer raises no event: a client reads on until it is told to wait.
        SSL_set_read_ahead(ssl, 1)
        let parameters = SSL_get0_param(ssl)
        if copenssl_is_ip_address(host) == 1 {
            guard X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 else { throw .lastTLS() }
        } else {
            X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            guard X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1, copenssl_set_server_name(ssl, host) == 1
            else { throw .lastTLS() }
        }
        // A ticket that does not fit is ignored by OpenSSL, and the handshake is a full one.
        if let ticket { SSL_set_session(ssl, ticket.pointer) }
    }

    /// The server's end.
    public init(server context: TLSContext) throws(StreamError) {
        ssl = try Self.new(context)
        SSL_set_accept_state(ssl)
    }

    deinit {
        SSL_free(ssl)
    }

    private static func new(_ context: TLSContext) throws(StreamError) -> OpaquePointer {
        ERR_clear_error()
        guard let ssl = SSL_new(context.pointer) else { throw .lastTLS() }
        return ssl
    }

    func attach(to descriptor: Int32) throws(StreamError) {
        guard SSL_set_fd(ssl, descriptor) == 1 else { throw .lastTLS() }
    }

    func handshake() throws(StreamError) -> Transfer {
        try drive { SSL_do_handshake(ssl) == 1 ? 0 : nil }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Transfer {
        // `SSL_read_ex` decrypts one record at a time. What would not fit into the buffer would stay behind, and no
        // event announces it.
        precondition(buffer.count >= SSL3_RT_MAX_PLAIN_LENGTH, "the buffer holds a whole record")
        var count = 0
        return try drive { SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count) == 1 ? count : nil }
    }

    func write(_ buffer: UnsafeRawBufferPointer) throws(StreamError) -> Transfer {
        var count = 0
        return try drive { SSL_write_ex(ssl, buffer.baseAddress, buffer.count, &count) == 1 ? count : nil }
    }

    /// Sends `close_notify`, so that the peer knows that nothing was cut off (RFC 8446 §6.1).
    func finishWriting() {
        guard !isBroken, SSL_is_init_finished(ssl) == 1, SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
        ERR_clear_error()
        // Both "sent" and "would block" are as good as it gets: the connection ends in any case.
        _ = SSL_shutdown(ssl)
    }

    /// The session to resume; with TLS 1.3 it comes after the handshake, so this is asked when a call is over.
    var ticket: TLSTicket? {
        guard let session = SSL_get1_session(ssl) else { return nil }
        guard SSL_SESSION_is_resumable(session) == 1 else {
            SSL_SESSION_free(session)
            return nil
        }
        return TLSTicket(owning: session)
    }

    /// The one place that knows what OpenSSL's outcomes mean. Wraps `SSL_get_error`.
    private func drive(_ attempt: () -> Int?) throws(StreamError) -> Transfer {
        guard !isBroken else { throw .tls("connection broken") }
        // An older entry in the queue would be taken for this call's (SSL_get_error's manual page).
        ERR_clear_error()
        if let count = attempt() { return .moved(count) }
        switch SSL_get_error(ssl, 0) {
        case SSL_ERROR_WANT_READ: return .blocked(.readable)
        case SSL_ERROR_WANT_WRITE: return .blocked(.writable)
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            isBroken = true
            throw failure()
        }
    }

    private func failure() -> StreamError {
        let verification = SSL_get_verify_result(ssl)
        guard verification == X509_V_OK else {
            ERR_clear_error()
            return .tls("certificate refused: \(String(cString: X509_verify_cert_error_string(verification)))")
        }
        return .lastTLS()
    }
}
