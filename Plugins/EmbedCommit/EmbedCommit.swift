import PackagePlugin

/// Writes `BuiltFrom.commit` before each build: the commit of the checkout, with `-dirty` where files differ from it.
///
/// Without git, or without its history, it is what `MERCHANT_COMMIT` says, as in the Dockerfile, else `unknown`.
@main
struct EmbedCommit: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.pluginWorkDirectoryURL
        return [
            .prebuildCommand(
                displayName: "Embed the commit",
                executable: context.package.directoryURL.appending(path: "scripts/lib/embed-commit"),
                arguments: [context.package.directoryURL.path, folder.path],
                outputFilesDirectory: folder)
        ]
    }
}
