// SPDX-License-Identifier: Apache-2.0
#include "core/far/ssh_prompt.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace shardscope::far {

namespace {

constexpr size_t kMostBytes = 64 << 10;

/// Of a file below /proc, whose size is not known before. Empty where it is gone.
std::string contentOf(const std::string& path)
{
    std::string out(kMostBytes, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(out.data(), static_cast<std::streamsize>(out.size()));
    out.resize(static_cast<size_t>(file.gcount()));
    return out;
}

std::vector<std::string> wordsOf(pid_t process)
{
    const std::string all = contentOf("/proc/" + std::to_string(process) + "/cmdline");
    std::vector<std::string> out;
    for (size_t at = 0; at < all.size();) {
        const size_t end = std::min(all.find('\0', at), all.size());
        out.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

/// A program that asks, and the last of its words, which is the prompt.
struct Prompt {
    pid_t process = -1; ///< none runs
    std::string text = {};
};

/// A script follows its interpreter's name.
Prompt promptOfProgram(pid_t ssh)
{
    const char* const asked = std::getenv("SSH_ASKPASS");
    const std::string_view program = asked == nullptr ? std::string_view() : asked;
    const std::string id = std::to_string(ssh);
    std::istringstream children(contentOf("/proc/" + id + "/task/" + id + "/children"));
    for (pid_t child = 0; children >> child;) {
        const std::vector<std::string> words = wordsOf(child);
        for (size_t i = 0; i + 1 < words.size(); ++i) {
            if (!program.empty() && words[i] == program)
                return {child, words.back()};
        }
    }
    return {};
}

/// ssh opens the terminal by this name for as long as it waits for an answer.
bool readsTerminal(pid_t ssh)
{
    std::error_code ignored;
    const std::filesystem::path folder("/proc/" + std::to_string(ssh) + "/fd");
    for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end;
         at.increment(ignored)) {
        std::error_code gone;
        if (std::filesystem::read_symlink(at->path(), gone) == "/dev/tty")
            return true;
    }
    return false;
}

} // namespace

std::string askedBySsh(pid_t ssh)
{
    if (const Prompt prompt = promptOfProgram(ssh); !prompt.text.empty())
        return "ssh asks: " + prompt.text;
    return readsTerminal(ssh) ? "ssh asks on the terminal that this program was started from" : std::string();
}

void endAskingOf(pid_t ssh)
{
    if (const Prompt prompt = promptOfProgram(ssh); prompt.process > 0)
        ::kill(prompt.process, SIGTERM);
}

} // namespace shardscope::far
