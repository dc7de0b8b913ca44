// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_line.h"

#include "core/base/build_info.h"
#include "core/base/current_stop.h"
#include "core/base/job_context.h"
#include "core/base/shell_quote.h"
#include "core/base/text.h"
#include "core/far/far_path.h"
#include "core/far/own_program.h"
#include "core/far/ssh_prompt.h"
#include "core/io/file_system.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace shardscope::far {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kMark = "shardscope-far "; ///< begins each line of kScript
constexpr size_t kGreetingLimit = size_t{64} << 10; // what the login itself may print before it
constexpr size_t kWordsLimit = 2000;
constexpr size_t kPromptLimit = 300;
constexpr milliseconds kPatience{30000}; ///< for a host that is reached
constexpr milliseconds kLook{200};
constexpr milliseconds kGreeting{25000}; ///< to log in, where nobody types a password
constexpr milliseconds kStarting{60000}; ///< of a copy, whose last bytes may still be on their way
constexpr milliseconds kEnding{2000};

/// Runs on the other host, by its login shell's `sh`. $1: folder of this version; $2: how the first line of
/// `shardscope --version` begins; $3: this machine, because hosts of several kinds can share a home folder.
/// On one line, without quotes that a login shell such as csh could see.
constexpr std::string_view kScript
    = R"sh(m() { echo; echo "shardscope-far $*"; }; )sh" // a login may have printed half a line
      R"sh(p="${XDG_CACHE_HOME:-$HOME/.cache}/shardscope/far/$1/shardscope"; )sh"
      R"sh(if [ "$(uname -m)" = "$3" ] && [ -f "$p" ] && [ -s "$p" ] && [ -x "$p" ]; then )sh"
      R"sh(m ready; touch -c "$p" 2>/dev/null; exec "$p" serve --allow-jobs; fi; w=""; )sh"
      R"sh(if q=$(command -v shardscope 2>/dev/null); then w=$("$q" --version 2>/dev/null | head -n 1); )sh"
      R"sh(case "$w" in "$2"*) m ready; exec "$q" serve --allow-jobs;; esac; fi; )sh"
      R"sh(m "absent $(uname -s) $(uname -m) $w"; read -r n || exit 0; )sh"
      R"sh(d="${p%/*}"; t="$d/.new-$(uname -n)-$$"; )sh"
      // In a process of its own, so that what jobs write has the modes of the user.
      R"sh(if (umask 077; mkdir -p "$d" && head -c "$n" >"$t" && [ "$(wc -c <"$t")" -eq "$n" ] && )sh"
      R"sh(chmod 700 "$t" && "$t" --version >/dev/null && mv -f "$t" "$p"); )sh"
      // Copies of other versions go when they were not used for a quarter of a year; those that run go on.
      R"sh(then for o in "${d%/*}"/*/shardscope; do find "$o" -type f -mtime +90 -exec rm -f {} + 2>/dev/null; )sh"
      R"sh(rmdir "${o%/*}" 2>/dev/null; done; )sh"
      R"sh(m ready; exec "$p" serve --allow-jobs; )sh"
      R"sh(fi; rm -f "$t"; m failed)sh";

/// The bytes of a control character, or of one that turns the direction of text, at the begin of valid UTF-8;
/// 0: it is another one.
size_t controlBytes(std::string_view text)
{
    const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0; };
    if (byte(0) < 0x20 || byte(0) == 0x7f)
        return 1;
    if (byte(0) == 0xc2 && byte(1) < 0xa0)
        return 2;
    const bool turns = byte(0) == 0xe2
        && ((byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae)))
            || (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9));
    return turns ? 3 : 0;
}

/// A stranger's words in one line, for a sentence of ours.
std::string plainText(std::string_view text)
{
    std::string out = toValidUtf8(text);
    for (size_t at = 0; at < out.size(); ++at) {
        if (const size_t bytes = controlBytes(std::string_view(out).substr(at)); bytes > 0)
            out.replace(at, bytes, 1, ' ');
    }
    while (!out.empty() && out.back() == ' ')
        out.pop_back();
    return out;
}

Status pollStops(const FarSettings& settings)
{
    std::stop_source stopped;
    if (isThreadStopped())
        stopped.request_stop();
    return JobContext(settings.stop.stop_requested() ? settings.stop : stopped.get_token()).poll();
}

/// The words of the local command.
std::vector<std::string> commandFor(const std::string& host, const std::string& version)
{
    const BuildInfo build = buildInfo();
    const std::string ours = "shardscope " + std::string(build.version) + " (" + std::string(build.commit);
    const std::string remote = "exec sh -c " + shellQuoted(kScript) + " sh " + shellQuoted(version) + " "
        + shellQuoted(ours) + " " + shellQuoted(ownMachine());
    const std::string name = sshName(host);
    const char* const asked = std::getenv("SHARDSCOPE_SSH");
    if (asked != nullptr && *asked != '\0')
        return {"/bin/sh", "-c", "exec " + std::string(asked) + " \"$@\"", "sh", name, remote};
    // ssh notices a dead line itself, also while it still connects.
    return {"ssh", "-T", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5", "-o",
        "ServerAliveCountMax=4", "--", name, remote};
}

/// Starts a process with a socket as standard input and output. -1: errno says why.
pid_t spawn(const std::vector<std::string>& words, int socket, int errors)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t blocked; // Ctrl+C is for this process, which may still have something to say to the other end
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigset_t restored;
    sigemptyset(&restored);
    sigaddset(&restored, SIGPIPE); // the others stay as they are: nohup ignores one
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &restored);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> arguments;
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t process = -1;
    const int failed
        = ::posix_spawnp(&process, arguments.front(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    errno = failed;
    return failed == 0 ? process : -1;
}

/// Whether ssh can ask somebody.
bool hasTerminal()
{
    const int terminal = ::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0)
        ::close(terminal);
    const char* const program = std::getenv("SSH_ASKPASS");
    return terminal >= 0 || (program != nullptr && *program != '\0');
}

/// The machine of a line "absent Linux x86_64 …", and the version that is there, if any.
struct Absent {
    std::string system;
    std::string machine;
    std::string version;
};

Absent absentOf(std::string_view line)
{
    std::array<std::string, 2> words;
    for (std::string& word : words) {
        const size_t end = std::min(line.find(' '), line.size());
        word = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return {plainText(words[0]), plainText(words[1]), plainText(line)};
}

std::string byHand(const std::string& machine)
{
    const std::string version(buildInfo().version);
    return "put shardscope-" + version + "-linux-" + machine + ".tar.gz there, or `pip install shardscope=="
        + version + "`, so that `shardscope` is in the PATH of a command that ssh runs";
}

} // namespace

FarLine::FarLine(FarLine&& other) noexcept
{
    *this = std::move(other);
}

FarLine& FarLine::operator=(FarLine&& other) noexcept
{
    if (this == &other)
        return *this;
    close();
    m_host = std::move(other.m_host);
    m_process = std::exchange(other.m_process, -1);
    m_socket = std::exchange(other.m_socket, -1);
    m_errors = std::exchange(other.m_errors, -1);
    m_words = std::move(other.m_words);
    m_early = std::move(other.m_early);
    m_buffer = std::move(other.m_buffer);
    return *this;
}

FarLine::~FarLine()
{
    close();
}

void FarLine::close()
{
    if (m_socket >= 0)
        ::close(m_socket);
    if (m_errors >= 0)
        ::close(m_errors);
    if (m_process > 0) {
        endAskingOf(m_process);
        ::kill(m_process, SIGTERM);
        const auto until = steady_clock::now() + kEnding;
        while (::waitpid(m_process, nullptr, WNOHANG) == 0) {
            if (steady_clock::now() > until)
                ::kill(m_process, SIGKILL);
            if (steady_clock::now() > until + kEnding)
                break; // it waits for a file system that does not answer, and nothing ends it
            (void)::poll(nullptr, 0, 5);
        }
    }
    m_socket = m_errors = -1;
    m_process = -1;
}

Result<FarLine> FarLine::start(const std::string& host, const FarSettings& settings)
{
    int both[2] = {-1, -1};
    int errors[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
        return fail(ErrorCode::Unreadable, std::string("no socket can be made: ") + std::strerror(errno));
    FarLine out;
    out.m_host = host;
    out.m_socket = both[0];
    const bool hasPipe = ::pipe2(errors, O_CLOEXEC) == 0;
    out.m_errors = errors[0];
    const auto program = OwnProgram::find();
    out.m_process
        = hasPipe ? spawn(commandFor(host, program ? program->version : "none"), both[1], errors[1]) : -1;
    const int failure = errno;
    ::close(both[1]);
    ::close(errors[1]);
    if (out.m_process < 0)
        return fail(ErrorCode::Unreadable, std::string("ssh cannot be started: ") + std::strerror(failure),
            host, "install OpenSSH's client, or name another command in SHARDSCOPE_SSH");
    SHARDSCOPE_TRY(std::string greeting, out.greeting(settings, hasTerminal(), kGreeting));
    if (greeting.starts_with("absent ")) {
        const Status installed = out.install(greeting.substr(7), settings);
        if (!installed && installed.error().path != host) // not of the line, but of this machine
            return forward(installed.error());
        if (!installed && installed.error().code != ErrorCode::Unreadable)
            return forward(installed.error());
        // Where the copy failed over there, this says so, and not that the line has ended.
        auto next = out.greeting(settings, false, kStarting);
        if (!next)
            return forward(installed ? next.error() : installed.error());
        greeting = std::move(*next);
    }
    if (greeting != "ready")
        return fail(ErrorCode::Unsupported, "this program could not be copied to the host: " + out.words(),
            host, "it needs room in the user's cache folder there (~/.cache), from which programs may run");
    return out;
}

Result<std::string> FarLine::greeting(const FarSettings& settings, bool mayAsk, milliseconds patience)
{
    std::string asked;
    const auto until = steady_clock::now() + patience;
    for (size_t printed = 0;;) {
        for (size_t end = m_early.find('\n'); end != std::string::npos; end = m_early.find('\n')) {
            std::string line = m_early.substr(0, end);
            m_early.erase(0, end + 1);
            printed += line.size();
            if (line.starts_with(kMark))
                return line.substr(kMark.size());
        }
        if (printed + m_early.size() > kGreetingLimit)
            return fail(ErrorCode::Unreadable, "the login prints too much before a command runs", m_host);
        SHARDSCOPE_CHECK(pollStops(settings));
        if (!mayAsk && steady_clock::now() > until)
            return fail(ErrorCode::Unreadable, "the host does not answer", m_host,
                {"see whether `" + sshCommand(m_host, "true") + "` works, and how long it takes",
                    {{Retry::Shown}}});
        std::string asks = mayAsk && settings.asks ? plainText(askedBySsh(m_process).substr(0, kPromptLimit))
                                                   : std::string();
        if (asks != asked)
            settings.asks(asked = std::move(asks));
        SHARDSCOPE_TRY(const auto bytes, receive(kLook));
        m_early.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
}

Status FarLine::install(const std::string& machine, const FarSettings& settings)
{
    const Absent there = absentOf(machine);
    const std::string version(buildInfo().version);
    const std::string lacks
        = there.version.empty() ? "has no `shardscope`" : "has another `shardscope`: " + there.version;
    if (!settings.mayInstall)
        return fail(ErrorCode::Unsupported,
            "the host " + lacks + ", and this program may not be copied there", m_host,
            byHand(there.machine));
    if (there.system != "Linux" || there.machine != ownMachine())
        return fail(ErrorCode::Unsupported,
            "the host " + lacks + ", and this program is for Linux on " + std::string(ownMachine())
                + ", not for " + there.system + " on " + there.machine,
            m_host, byHand(there.machine));
    const auto program = OwnProgram::find();
    if (!program)
        return fail(ErrorCode::Unsupported,
            "the host " + lacks + ", and there is no `shardscope-static` beside this program to be copied",
            m_host, byHand(there.machine));
    if (settings.says)
        settings.says("copying shardscope " + version + " (" + formatBytes(program->bytes) + ") to " + m_host
            + ", once");
    std::string size = std::to_string(program->bytes) + "\n"; // sent when the file is open
    return program->read([&](std::string_view bytes) -> Status {
        SHARDSCOPE_CHECK(pollStops(settings));
        SHARDSCOPE_CHECK(send(std::exchange(size, {}), kPatience));
        return send(bytes, kPatience);
    });
}

Result<std::span<const uint8_t>> FarLine::receive(milliseconds wait)
{
    m_buffer.resize(size_t{1} << 18);
    const auto until = steady_clock::now() + wait;
    for (;;) {
        std::array<pollfd, 2> waits{{{m_socket, POLLIN, 0}, {m_errors, POLLIN, 0}}};
        const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now()).count();
        (void)::poll(waits.data(), waits.size(), static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1 << 30)));
        if (waits[1].revents != 0) {
            const ssize_t count = ::read(m_errors, m_buffer.data(), m_buffer.size());
            if (count > 0)
                m_words.append(m_buffer.data(), static_cast<size_t>(count));
            if (m_words.size() > kWordsLimit)
                m_words.erase(0, m_words.size() - kWordsLimit);
            if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
                ::close(m_errors);
                m_errors = -1; // poll() takes no notice of it
            }
        }
        if (waits[0].revents != 0) {
            const ssize_t count = ::recv(m_socket, m_buffer.data(), m_buffer.size(), MSG_DONTWAIT);
            if (count > 0)
                return std::span(
                    reinterpret_cast<const uint8_t*>(m_buffer.data()), static_cast<size_t>(count));
            if (count == 0 || (errno != EINTR && errno != EAGAIN))
                return forward(ended("the connection has ended"));
        }
        if (steady_clock::now() >= until)
            return std::span<const uint8_t>();
    }
}

Status FarLine::send(std::string_view bytes, milliseconds patience) const
{
    auto until = steady_clock::now() + patience;
    while (!bytes.empty()) {
        const ssize_t count = ::send(m_socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            bytes.remove_prefix(static_cast<size_t>(count));
            until = steady_clock::now() + patience;
        } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
            return fail(ErrorCode::Unreadable, "the connection has ended", m_host);
        } else if (steady_clock::now() > until) {
            return fail(ErrorCode::Unreadable, "the connection takes nothing any more", m_host);
        } else {
            pollfd wait{m_socket, POLLOUT, 0};
            (void)::poll(&wait, 1, 200);
        }
    }
    return {};
}

void FarLine::end() const
{
    (void)::shutdown(m_socket, SHUT_RDWR);
}

std::string FarLine::words() const
{
    return plainText(m_words);
}

Error FarLine::ended(std::string what) const
{
    const std::string words = this->words();
    if (const std::string drive = driveHint(m_host); !drive.empty())
        return {
            ErrorCode::Unreadable, std::move(what) + (words.empty() ? "" : ": " + words), m_host, {drive}};
    return {ErrorCode::Unreadable, std::move(what) + (words.empty() ? "" : ": " + words), m_host,
        {"see whether `" + sshCommand(m_host, "true")
                + "` works; a path of this machine with a colon is typed ./" + m_host + ":…",
            {{Retry::Shown}}}};
}

} // namespace shardscope::far
