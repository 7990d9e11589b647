// Plays the example of examples/android on a computer: a phone in software signs, and the bank's page is answered over
// HTTP. Arguments: the server, a token, the `phone` program, its key file, the bank, the order's reference.

import java.io.File
import java.net.HttpURLConnection
import java.net.URL
import java.net.URLDecoder
import java.net.URLEncoder
import kotlin.system.exitProcess
import org.json.JSONObject

private class SoftwarePhone(private val program: String, private val keys: String) : Device {
    override fun openBank(url: String) {
        val page = URL(url).readText()
        val request = Regex("name=\"request_uri\" value=\"([^\"]*)\"").find(page)!!.groupValues[1]
        val form = "request_uri=" + URLEncoder.encode(request, "UTF-8") + "&decision=approve"
        val bank = URL(url.substringBefore("?")).openConnection() as HttpURLConnection
        bank.doOutput = true
        bank.instanceFollowRedirects = false
        bank.outputStream.use { it.write(form.toByteArray()) }
        URL(bank.getHeaderField("Location")).readText()
    }

    override fun register(options: JSONObject) = call("register", "-", input = options)
    override fun sign(options: JSONObject) = call("sign", "-", input = options)
    override fun riskSignals(accountTenure: String) = call("risk-signals", "--account-tenure", accountTenure)

    override fun show(record: JSONObject) =
        println(record.optString("status") + " " + (record.optJSONObject("next_action")?.optString("type") ?: "-"))

    private fun call(vararg words: String, input: JSONObject? = null): JSONObject {
        val process = ProcessBuilder(program, *words, "--key-file", keys).redirectError(ProcessBuilder.Redirect.INHERIT)
            .start()
        process.outputStream.use { it.write((input?.toString() ?: "").toByteArray()) }
        return JSONObject(process.inputStream.reader().readText())
    }
}

private class Page(private val file: File) : Notebook {
    override fun read() = if (file.exists()) file.readText() else null
    override fun write(text: String?) = if (text == null) { file.delete(); Unit } else file.writeText(text)
}

private const val NOBODYS = "00000000-0000-4000-8000-000000000000"

private fun expectRefusal(status: Int, action: () -> Unit) {
    val refused = try { action() } catch (problem: Problem) { problem.status }
    check(refused == status) { "$refused in place of $status" }
}

fun main(arguments: Array<String>) {
    val (api, token, phone, keys, bank) = arguments
    val (device, page) = Pair(SoftwarePhone(phone, keys), Page(File("$keys.pending")))
    val pix = Pix(api, { token }, device, page)
    // What was begun outlives a sign-in that fails, and a refusal of something else; its own refusal ends it.
    page.write("""{"path": "/v1/payment-intents", "key": "tap-0", "body": {}, "id": "$NOBODYS"}""")
    expectRefusal(401) { Pix(api, { "no token" }, device, page).resume() }
    expectRefusal(400) { pix.introduce(JSONObject().put("name", "")) }
    check(page.read() != null) { "what was begun was forgotten" }
    expectRefusal(404) { pix.resume() }
    check(page.read() == null) { "what was refused was kept" }
    pix.introduce(JSONObject().put("name", "Ana Souza").put("identifier", "529.982.247-25"))
    val enrollment = pix.enroll(bank, "Ana's phone")
    check(enrollment.reason == null) { "enrollment: " + enrollment.reason }
    val paid = pix.pay(enrollment.record.getString("id"), arguments[5])
    check(paid.reason == null) { "payment: " + paid.reason }
    val details = paid.record.getJSONObject("payment_method_information").getJSONObject("open_finance_biometric_pix")
    println("paid " + paid.record.getString("reference") + " " + details.getString("end_to_end_id"))
    exitProcess(0)
}
