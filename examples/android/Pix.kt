// An app's part of Biometric Pix on Android: a client of the merchant server, and one loop. Copy it into your app.
//
// Every enrollment and payment carries a `next_action`; the loop does what it says, and nothing else. Whatever changes
// something is written into the notebook before it is sent, so that an app that was killed goes on where it was.
// It blocks: call it from a coroutine on Dispatchers.IO, or from a Worker, which outlives the screen.

import java.net.HttpURLConnection
import java.net.URL
import java.util.UUID
import org.json.JSONObject

/** What you write: the bank's page, the fingerprint, and what the phone says about itself. */
interface Device {
    /** Opens the bank, in its app where there is one: `startActivity(Intent(Intent.ACTION_VIEW, Uri.parse(url)))`. */
    fun openBank(url: String)

    /**
     * Makes a credential. With Belvo's SDK `startRegistration`; with Credential Manager
     * `credentialManager.createCredential(activity, CreatePublicKeyCredentialRequest(options.toString()))`, whose
     * `CreatePublicKeyCredentialResponse.registrationResponseJson` goes back as it is.
     */
    fun register(options: JSONObject): JSONObject

    /**
     * Signs a payment. With Belvo's SDK `startSigning`; with Credential Manager `credentialManager.getCredential(
     * activity, GetCredentialRequest(listOf(GetPublicKeyCredentialOption(options.toString()))))`, whose
     * `PublicKeyCredential.authenticationResponseJson` goes back as it is.
     */
    fun sign(options: JSONObject): JSONObject

    /** With Belvo's SDK `collectRiskSignals(accountTenure)`. */
    fun riskSignals(accountTenure: String): JSONObject

    /** Shows how things stand. */
    fun show(record: JSONObject) {}
}

/** Keeps one text: a file in `context.filesDir`, or an entry of DataStore. */
interface Notebook {
    fun read(): String?
    fun write(text: String?)
}

/** What the network gave. What is no JSON is not the server's, and counts as silence: status 0. */
class Answer(val status: Int = 0, val tag: String? = null, val wait: Double? = null, text: String = "{}") {
    val body = JSONObject(if (status == 204 || status == 304) "{}" else text)
    val pause get() = body.optJSONObject("next_action")?.optLong("after_ms", 2000) ?: 2000
    /** Whether the same may be said again later: the server is silent, busy, or still at work on the same request. */
    val isForNow get() = status == 0 || status == 429 || status >= 500 || status == 409 && problem.code == "in_progress"
    val problem get() = Problem(status, body.optString("code"), body.optString("detail"))
}

/** Sends a request once, by `UrlNetwork` or by OkHttp. Whatever it throws, no answer came. */
interface Network {
    fun send(method: String, url: String, headers: Map<String, String>, body: String?): Answer
}

/** What the server says against a request; `code` is stable. */
class Problem(val status: Int, val code: String, detail: String) : Exception(detail)

/** How it ended: without a `reason` well, else by one of the seven words of docs/retry-reasons.md. */
class Ending(val record: JSONObject, val reason: String?)

/** `token` gives the user's; when the server has refused one, that one comes along, and a new one is expected. */
class Pix(
    private val api: String, private val token: (refused: String?) -> String, private val device: Device,
    private val notebook: Notebook, private val network: Network = UrlNetwork()
) {
    /** The banks, in the order in which to show them. */
    fun banks() = ask("GET", "/v1/institutions?limit=100").body.getJSONArray("results")

    /** Makes the user Belvo's customer: once, and the same again is harmless. */
    fun introduce(person: JSONObject): JSONObject = ask("PUT", "/v1/customer", person).body

    /** Binds this phone to a bank. */
    fun enroll(bank: String, name: String): Ending {
        val body = JSONObject().put("institution", bank).put("platform", "ANDROID").put("name", name)
        return run(pending("/v1/enrollments", body.put("risk_signals", signals())))
    }

    /** Pays an order. One call for one touch: it makes the key that the touch goes by. */
    fun pay(enrollment: String, reference: String): Ending =
        run(pending("/v1/payment-intents", JSONObject().put("enrollment", enrollment).put("reference", reference)))

    /** Goes on with what was begun and has not ended, when the app starts; null when there is nothing. */
    fun resume(): Ending? = notebook.read()?.let { run(JSONObject(it)) }

    private fun run(pending: JSONObject): Ending = try { loop(pending) } catch (problem: Problem) {
        // A refusal ends what was begun; silence does not, and neither does a sign-in that fails.
        if (problem.status != 0 && problem.status != 401) notebook.write(null)
        throw problem
    }

    /** The loop. */
    private fun loop(pending: JSONObject): Ending {
        note(pending)
        var answer = if (pending.has("id")) read(pending) else begin(pending)
        var openedPage: String? = null
        while (true) {
            device.show(answer.body)
            val next = answer.body.optJSONObject("next_action")
            when (next?.getString("type")) {
                null, "retry" -> {
                    notebook.write(null)
                    return Ending(answer.body, next?.getString("reason"))
                }
                "register" -> answer = hand(pending, "confirm") {
                    val options = next.getJSONObject("fido_registration_options")
                    JSONObject().put("confirmation_data", device.register(options))
                }
                "sign" -> answer = hand(pending, "authorize") {
                    val assertion = device.sign(next.getJSONObject("fido_options"))
                    JSONObject().put("risk_signals", signals()).put("assertion", assertion)
                }
                else -> {  // "redirect" and "poll"
                    val page = next.optString("url")
                    if (next.has("url") && page != openedPage) device.openBank(page).also { openedPage = page }
                    answer = change(pending, answer)
                }
            }
        }
    }

    private fun begin(pending: JSONObject): Answer {
        val key = mapOf("Idempotency-Key" to pending.getString("key"))
        val answer = ask("POST", pending.getString("path"), pending.getJSONObject("body"), key, accepts = setOf(409))
        // Another attempt is in the way, or has paid: go on with that one.
        val id = answer.body.opt("payment_intent") ?: answer.body.opt("id") ?: throw answer.problem
        note(pending.put("id", id))
        return if (answer.status == 409) read(pending) else answer
    }

    /** Hands over what the phone has made: noted before it is sent, since it can be made only once. */
    private fun hand(pending: JSONObject, step: String, make: () -> JSONObject): Answer {
        val made = pending.optJSONObject("made") ?: make().also { note(pending.put("made", it)) }
        // 409: Belvo has another one, or the time for it is over; 422: Belvo refuses it. The record says which.
        val answer = ask("POST", "${path(pending)}/$step", made, mapOf(), step == "confirm", setOf(409, 422))
        if (answer.status >= 400) Thread.sleep(1000)
        return read(pending)
    }

    /** The record as soon as it is another one: a long poll, where there is a tag to compare by. */
    private fun change(pending: JSONObject, known: Answer): Answer {
        if (known.tag != null) {
            val answer = ask("GET", path(pending) + "?wait=20", null, mapOf("If-None-Match" to known.tag))
            if (answer.status != 304) return answer
        }
        Thread.sleep(known.pause)
        return read(pending)
    }

    private fun read(pending: JSONObject) = ask("GET", path(pending))
    private fun path(pending: JSONObject) = pending.getString("path") + "/" + pending.getString("id")
    private fun signals() = device.riskSignals(ask("GET", "/v1/customer").body.getString("account_tenure"))
    private fun note(pending: JSONObject) = notebook.write(pending.toString())
    private fun pending(path: String, body: JSONObject) =
        JSONObject().put("path", path).put("key", UUID.randomUUID().toString()).put("body", body)

    /** Says the same until it is answered, and what `comesAgain` after a 202 too: nothing is done twice. */
    fun ask(
        method: String, path: String, body: JSONObject? = null, headers: Map<String, String> = emptyMap(),
        comesAgain: Boolean = true, accepts: Set<Int> = emptySet()
    ): Answer {
        var refused: String? = null
        for (attempt in 1..20) {
            val bearer = token(refused)
            val sent = headers + ("Authorization" to "Bearer $bearer")
            val answer =
                try { network.send(method, api + path, sent, body?.toString()) } catch (silence: Exception) { Answer() }
            val backoff = minOf(0.2 * (1 shl attempt), 6.0)
            when {
                answer.status == 401 && refused == null -> refused = bearer
                answer.status == 202 && comesAgain && attempt < 20 -> Thread.sleep(answer.pause)
                answer.isForNow -> Thread.sleep((minOf(answer.wait ?: backoff, 10.0) * 1000).toLong())
                answer.status >= 400 && answer.status !in accepts -> throw answer.problem
                else -> return answer
            }
        }
        throw Problem(0, "no_answer", "The server does not answer.")
    }
}

/** The network by what every Android has. */
class UrlNetwork : Network {
    override fun send(method: String, url: String, headers: Map<String, String>, body: String?): Answer {
        val connection = URL(url).openConnection() as HttpURLConnection
        connection.requestMethod = method
        connection.connectTimeout = 10_000
        connection.readTimeout = 30_000
        connection.setRequestProperty("Content-Type", "application/json")
        headers.forEach { (name, value) -> connection.setRequestProperty(name, value) }
        connection.doOutput = body != null
        body?.let { text -> connection.outputStream.use { it.write(text.toByteArray()) } }
        val stream = if (connection.responseCode < 400) connection.inputStream else connection.errorStream
        val text = stream?.use { it.readBytes().toString(Charsets.UTF_8) } ?: ""
        val wait = connection.getHeaderField("Retry-After")?.toDoubleOrNull()
        return Answer(connection.responseCode, connection.getHeaderField("ETag"), wait, text)
    }
}
