// An app's part of Biometric Pix on Android: a client of the merchant server, and one loop. Copy it into your app.
//
// Every enrollment and payment carries a `next_action`; the loop does what it says, and nothing else. Whatever changes
// something is written into the notebook before it is sent, so that an app that was killed goes on where it was.
// It blocks: call it from a coroutine on Dispatchers.IO, or from a Worker, which outlives the screen.

import java.io.IOException
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

/** What the network gave; `OkHttpClient` fits behind `Network` as well. */
class Answer(val status: Int, val tag: String?, val wait: Double?, private val text: String) {
    val body: JSONObject get() = JSONObject(if (text == "") "{}" else text)
    /** Whether the same may be said again later: the server is busy or away, or still at work on the same request. */
    val isForNow get() = status == 429 || status >= 500 || status == 409 && body.optString("code") == "in_progress"
}

/** Sends a request once. Throws `IOException` when no answer came. */
interface Network {
    fun send(method: String, url: String, headers: Map<String, String>, body: String?): Answer
}

/** What the server says against a request; `code` is stable. */
class Problem(val status: Int, val code: String, detail: String) : Exception(detail)

/** How it ended: without a `reason` well, else by one of the seven words of docs/retry-reasons.md. */
class Ending(val record: JSONObject, val reason: String?)

class Pix(
    private val api: String, private val newToken: () -> String, private val device: Device,
    private val notebook: Notebook, private val network: Network = UrlNetwork()
) {
    private var token: String? = null

    fun banks() = ask("GET", "/v1/institutions").body.getJSONArray("results")

    /** Makes the user Belvo's customer: once, and the same again is harmless. */
    fun introduce(person: JSONObject): JSONObject = ask("PUT", "/v1/customer", person, comesAgain = true).body

    /** Binds this phone to a bank. */
    fun enroll(institution: String, name: String): Ending {
        val body = JSONObject().put("institution", institution).put("platform", "ANDROID").put("name", name)
        return run(errand("/v1/enrollments", body.put("risk_signals", signals())))
    }

    /** Pays an order. One call for one touch: it makes the key that the touch goes by. */
    fun pay(enrollment: String, reference: String): Ending =
        run(errand("/v1/payment-intents", JSONObject().put("enrollment", enrollment).put("reference", reference)))

    /** Goes on with what was begun and has not ended, when the app starts; null when there is nothing. */
    fun resume(): Ending? = notebook.read()?.let { run(JSONObject(it)) }

    /** The loop. */
    private fun run(errand: JSONObject): Ending {
        note(errand)
        var answer = if (errand.has("id")) read(errand) else begin(errand)
        var openedPage: String? = null
        while (true) {
            val record = answer.body
            device.show(record)
            val next = record.optJSONObject("next_action")
            when (next?.getString("type")) {
                null, "retry" -> {
                    notebook.write(null)
                    return Ending(record, next?.getString("reason"))
                }
                "redirect", "poll" -> {
                    val page = next.optString("url")
                    if (next.has("url") && page != openedPage) device.openBank(page).also { openedPage = page }
                    answer = change(errand, answer.tag, next.optLong("after_ms", 2000))
                }
                "register" -> answer = hand(errand, "confirm") {
                    val options = next.getJSONObject("fido_registration_options")
                    JSONObject().put("confirmation_data", device.register(options))
                }
                "sign" -> answer = hand(errand, "authorize") {
                    val assertion = device.sign(next.getJSONObject("fido_options"))
                    JSONObject().put("risk_signals", signals()).put("assertion", assertion)
                }
            }
        }
    }

    private fun begin(errand: JSONObject): Answer {
        val key = mapOf("Idempotency-Key" to errand.getString("key"))
        val answer = ask("POST", errand.getString("path"), errand.getJSONObject("body"), key, true, 409)
        // Another attempt is in the way, or has paid: go on with that one.
        val other = answer.body.optString("payment_intent", "")
        if (answer.status == 409 && other == "") throw end(answer)
        note(errand.put("id", if (answer.status == 409) other else answer.body.getString("id")))
        return if (answer.status == 409) read(errand) else answer
    }

    /** Hands over what the phone has made: noted before it is sent, since it can be made only once. */
    private fun hand(errand: JSONObject, step: String, make: () -> JSONObject): Answer {
        if (errand.optString("step") != step) note(errand.put("made", make()).put("step", step))
        // 409: Belvo has another one, or the time for it is over; 422: Belvo refuses it. The record says which.
        val made = errand.getJSONObject("made")
        val answer = ask("POST", "${path(errand)}/$step", made, mapOf(), step == "confirm", 409, 422)
        if (answer.status >= 400) Thread.sleep(1000)
        return read(errand)
    }

    /** The record as soon as it is another one: a long poll, where there is a tag to compare by. */
    private fun change(errand: JSONObject, tag: String?, after: Long): Answer {
        if (tag == null) return Thread.sleep(after).let { read(errand) }
        while (true) {
            val answer = ask("GET", path(errand) + "?wait=20", null, mapOf("If-None-Match" to tag), false, 304)
            if (answer.status != 304) return answer
        }
    }

    private fun read(errand: JSONObject) = ask("GET", path(errand))
    private fun path(errand: JSONObject) = errand.getString("path") + "/" + errand.getString("id")
    private fun signals() = device.riskSignals(ask("GET", "/v1/customer").body.getString("account_tenure"))
    private fun note(errand: JSONObject) = notebook.write(errand.toString())
    private fun errand(path: String, body: JSONObject) =
        JSONObject().put("path", path).put("key", UUID.randomUUID().toString()).put("body", body)

    /** A refusal ends what was begun; a sign-in that fails does not. */
    private fun end(answer: Answer): Problem = Problem(answer.status, answer.body.optString("code"),
        answer.body.optString("detail")).also { if (it.status != 401) notebook.write(null) }

    /** Says the same until it is answered, and what `comesAgain` after a 202 too: nothing is done twice. */
    private fun ask(
        method: String, path: String, body: JSONObject? = null, headers: Map<String, String> = emptyMap(),
        comesAgain: Boolean = false, vararg accepts: Int
    ): Answer {
        var (isRenewed, attempt, unknown) = Triple(false, 0, 0)
        while (attempt++ < 13) {
            val sent = headers + ("Authorization" to "Bearer " + (token ?: newToken().also { token = it }))
            val answer =
                try { network.send(method, api + path, sent, body?.toString()) } catch (failure: IOException) { null }
            if (answer?.status == 401 && !isRenewed) token = null.also { isRenewed = true }
            else if (answer?.status == 202 && comesAgain && unknown < 30) {
                unknown += 1.also { attempt = 0 }
                Thread.sleep(answer.body.optJSONObject("next_action")?.optLong("after_ms", 2000) ?: 2000)
            } else if (answer == null || answer.isForNow) {
                Thread.sleep((minOf(answer?.wait ?: minOf(0.2 * (1 shl attempt), 6.0), 10.0) * 1000).toLong())
            } else if (answer.status < 400 || answer.status in accepts) return answer
            else throw end(answer)
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
        headers.forEach { (name, value) -> connection.setRequestProperty(name, value) }
        if (body != null) {
            connection.setRequestProperty("Content-Type", "application/json")
            connection.doOutput = true
            connection.outputStream.use { it.write(body.toByteArray()) }
        }
        val stream = if (connection.responseCode < 400) connection.inputStream else connection.errorStream
        val text = stream?.use { it.readBytes().toString(Charsets.UTF_8) } ?: ""
        val wait = connection.getHeaderField("Retry-After")?.toDoubleOrNull()
        return Answer(connection.responseCode, connection.getHeaderField("ETag"), wait, text)
    }
}
