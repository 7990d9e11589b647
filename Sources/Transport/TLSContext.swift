import COpenSSL

/// Certificates, trust and versions shared by the TLS sessions of one side.
///
/// Wraps `SSL_CTX`. It is `@unchecked Sendable` because it is not changed after `init`, and OpenSSL lets several
/// threads make sessions from one context.
public final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer

    private init(method: OpaquePointer?) throws(StreamError) {
        // OpenSSL writes without MSG_NOSIGNAL, so any peer that hangs up at the right moment would end the process.
        Signals.ignoreBrokenPipes()
        ERR_clear_error()
        guard let pointer = SSL_CTX_new(method) else { throw .lastTLS() }
        self.pointer = pointer
        // TLS 1.0 and 1.1 are deprecated (RFC 8996).
        copenssl_set_min_version(pointer, TLS1_2_VERSION)
        // A buffer may move between two attempts to write it, and part of it may be written.
        let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
        _ = copenssl_set_context_mode(pointer, Int(mode))
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    /// Trusts the system's certificate authorities and those in the extra file (PEM), and no others.
    ///
    /// Throws when the file cannot be read or holds no certificate.
    public static func client(extraAuthorities file: String? = nil) throws(StreamError) -> TLSContext {
        let context = try TLSContext(method: TLS_client_method())
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        guard SSL_CTX_set_default_verify_paths(context.pointer) == 1 else { throw .lastTLS() }
        if let file, SSL_CTX_load_verify_locations(context.pointer, file, nil) != 1 { throw .lastTLS() }
        // Sessions are kept by the client that resumes them (`TLSTicket`): OpenSSL's own store would only grow.
        _ = copenssl_set_session_cache_mode(context.pointer, Int(SSL_SESS_CACHE_OFF))
        return context
    }

    /// Speaks as a server with a certificate chain and its private key, both PEM files.
    ///
    /// Throws when one cannot be read or they do not belong together.
    public static func server(certificateChain: String, privateKey: String) throws(StreamError) -> TLSContext {
        let context = try TLSContext(method: TLS_server_method())
        guard SSL_CTX_use_certificate_chain_file(context.pointer, certificateChain) == 1,
            SSL_CTX_use_PrivateKey_file(context.pointer, privateKey, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context.pointer) == 1
        else { throw .lastTLS() }
        // Only ephemeral keys and authenticated ciphers below TLS 1.3 (RFC 9325 §4.2).
        guard SSL_CTX_set_cipher_list(context.pointer, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 else { throw .lastTLS() }
        // The three that every client has one of. OpenSSL would offer 8192-bit Diffie-Hellman too, of which one
        // handshake costs as much time as a hundred of these: the client chooses, and the server pays.
        guard copenssl_set_groups(context.pointer, "X25519:P-256:P-384") == 1 else { throw .lastTLS() }
        copenssl_set_server_options(context.pointer)
        copenssl_limit_handshake_messages(context.pointer)
        // Sessions are resumed by tickets, which the clients keep. OpenSSL's own store would fill with the sessions of
        // a peer that takes none.
        _ = copenssl_set_session_cache_mode(context.pointer, Int(SSL_SESS_CACHE_OFF))
        let sessionContext: [UInt8] = Array("merchant".utf8)
        SSL_CTX_set_session_id_context(context.pointer, sessionContext, UInt32(sessionContext.count))
        return context
    }
}

/// A server's leave to resume a session with it. Wraps a reference to `SSL_SESSION`.
///
/// It is `@unchecked Sendable` because OpenSSL counts its references atomically and nothing else is done with it.
public final class TLSTicket: @unchecked Sendable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        SSL_SESSION_free(pointer)
    }
}

extension StreamError {
    /// Takes the oldest entry of OpenSSL's error queue on this thread, and empties the queue.
    static func lastTLS() -> StreamError {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return .tls("connection broken") }
        return .tls(String(cString: reason))
    }
}
