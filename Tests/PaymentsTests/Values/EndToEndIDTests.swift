import Payments
import Testing

struct EndToEndIDTests {
    @Test(arguments: [
        "",
        "E432158152025061315009OzwiMmDSO",
        "E432158152025061315009OzwiMmDSO78",
        "e432158152025061315009OzwiMmDSO7",
        "D432158152025061315009OzwiMmDSO7",
        "E43215815202506131500-9zwiMmDSO7",
        "E432158152025061315009OzwiMmDSÓ",
        "EA32158152025061315009OzwiMmDSO7",
        "E432158152025001315009OzwiMmDSO7",
        "E432158152025131315009OzwiMmDSO7",
        "E432158152025060015009OzwiMmDSO7",
        "E432158152025063215009OzwiMmDSO7",
        "E432158152025061324009OzwiMmDSO7",
        "E432158152025061315609OzwiMmDSO7",
        "E432158152025061315009OzwiMmDSO7\n",
        " E432158152025061315009OzwiMmDSO7",
    ])
    func `what the pattern does not take is nil`(text: String) {
        #expect(EndToEndID(text) == nil)
    }

    @Test(arguments: [
        "E432158152025061315009OzwiMmDSO7",
        "E432158152024081610416f2b595b056",
        "E000000000000010100000AaZz012345",
        "E999999999999123123599zzzzzzzzzz",
    ])
    func `what the pattern takes is kept as it came`(text: String) {
        #expect(EndToEndID(text)?.description == text)
    }

    @Test func `two that differ in case are two`() throws {
        let one = try #require(EndToEndID("E432158152025061315009OzwiMmDSO7"))
        let other = try #require(EndToEndID("E432158152025061315009OZWIMMDSO7"))
        #expect(one != other)
    }
}
