// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/window_command.h"

#include "app/cli/frame/terminal.h"
#include "core/base/shell_quote.h"
#include "core/checkpoint/open/source_arguments.h"
#include "core/far/far_path.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace shardscope::cli {

namespace {

using Words = std::vector<std::string>;

std::string variable(const char* name)
{
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

/// This host for ssh; empty outside of a session of ssh, where the user is at this machine.
std::string hostHere()
{
    std::array<char, 256> name{};
    if (variable("SSH_CONNECTION").empty() || gethostname(name.data(), name.size() - 1) != 0)
        return {};
    const std::string user = variable("USER");
    const std::string host = user.empty() ? name.data() : user + "@" + name.data();
    return far::isFar(far::farPath(host, "/")) ? host : std::string();
}

/// A path as the window takes it in another folder, and on another machine.
io::Path placeOf(io::FileSystem& files, const io::Path& path, const std::string& host)
{
    if (far::isElsewhere(path))
        return path;
    const io::Path whole = files.canonical(path).value_or(path);
    return host.empty() ? whole : far::farPath(host, whole);
}

/// Of the verbs that have --copy.
std::string pageOf(const std::string& verb)
{
    using Pair = std::pair<std::string_view, std::string_view>;
    constexpr std::array<Pair, 6> kPages{Pair{"inspect", "overview"}, {"params", "parameters"},
        {"layout", "map"}, {"files", "files"}, {"show", "tensor"}, {"check", "findings"}};
    return std::string(std::ranges::find(kPages, verb, &Pair::first)->second);
}

std::string addressOf(const Arguments& arguments)
{
    for (const std::string& address : {arguments.positional("ADDRESS"), arguments.text("--address"),
             arguments.text("--param"), arguments.text("--rank")}) {
        if (!address.empty())
            return address;
    }
    return {};
}

std::string windowCommand(const Session& session)
{
    const std::string host = hostHere();
    OpenOptions options = session.openOptions();
    for (io::Path& root : options.roots)
        root = placeOf(session.files(), root, host);
    const SourceArguments source
        = sourceArguments(placeOf(session.files(), session.openedPath(), host), options);
    Words words{"shardscope-gui", "--page", pageOf(session.parsed().command->name)};
    if (const std::string address = addressOf(session.arguments()); !address.empty())
        words.insert(words.end(), {"--select", address});
    words.insert(words.end(), source.options.begin(), source.options.end());
    words.push_back(source.path.string());
    std::string out;
    for (const std::string& word : words)
        out += (out.empty() ? "" : " ") + shellQuoted(word);
    return out;
}

} // namespace

void copyWindowCommand(const Session& session)
{
    Output& output = session.output();
    if (!session.arguments().has("--copy"))
        return;
    const auto say = [&](const std::string& line) {
        if (!output.quiet())
            output.message(line + "\n");
    };
    if (!takesControlCodes(STDERR_FILENO))
        return say("nothing was copied: standard error is no terminal that takes control codes");
    if (session.arguments().allOf("PATH").size() != 1)
        return say("nothing was copied: the window opens one checkpoint");
    const std::string command = windowCommand(session);
    const bool isSafe = printable(command) == command; // else it could run where it is pasted
    const std::string codes = isSafe ? clipboardCodes(command) : std::string();
    if (codes.empty())
        return say(isSafe ? "nothing was copied: the command is longer than terminals take"
                          : "nothing was copied: the command has characters that cannot be shown");
    output.message(codes);
    say("sent to the clipboard: " + command);
}

} // namespace shardscope::cli
