// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <chrono>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace shardscope::far {

/// How this process reaches other hosts.
struct FarSettings {
    bool mayInstall = true; ///< copy this program to a host that lacks it
    std::function<void(std::string_view line)> says = {}; ///< what takes long, for the user; from any thread
    std::function<void(std::string_view what)> asks = {}; ///< what ssh waits for a person for; empty: no more
    std::chrono::milliseconds silence{25000}; ///< without a byte, the connection is lost
    std::stop_token stop = {}; ///< ends every wait for another host
};

/// A running `shardscope serve` on another host, started by ssh (or $SHARDSCOPE_SSH, a command for a shell).
/// Bytes go both ways on one socket. Used by one thread, but for send() and end(), which any thread may call.
class FarLine
{
public:
    /// Starts it. Where the host has no program of this version, copies this one, if it needs no shared
    /// libraries or one that does not lies beside it, into a folder of the user's cache that is named after
    /// the version; then starts it.
    ///
    /// Waits for as long as ssh may ask somebody for a password, else a minute. Errors: Unreadable if ssh
    /// fails, with its words, or the host does not answer; Unsupported where this program does not run there,
    /// or may not be copied; Cancelled by a stop of the settings or of the calling thread's job
    /// (current_stop.h).
    static Result<FarLine> start(const std::string& host, const FarSettings& settings);

    FarLine() = default;
    FarLine(FarLine&& other) noexcept;
    FarLine& operator=(FarLine&& other) noexcept;
    ~FarLine();

    /// Waits until something arrives, at most so long; at the end of the line Unreadable, with what ssh said.
    /// An empty span: nothing arrived in this time.
    Result<std::span<const uint8_t>> receive(std::chrono::milliseconds wait);
    /// What arrived with the greeting; to be taken once, before receive().
    std::string takeEarly() { return std::move(m_early); }
    /// Sends all, or fails: when the line has ended, or takes nothing for `patience`.
    Status send(std::string_view bytes, std::chrono::milliseconds patience) const;
    /// Ends it at once: receive() and send() of other threads fail.
    void end() const;
    /// The last lines that ssh and the far program wrote for people, as one. Of the thread that receives.
    [[nodiscard]] std::string words() const;

private:
    Result<std::string> greeting(
        const FarSettings& settings, bool mayAsk, std::chrono::milliseconds patience);
    Status install(const std::string& machine, const FarSettings& settings);
    [[nodiscard]] Error ended(std::string what) const;
    void close();

    std::string m_host;
    pid_t m_process = -1;
    int m_socket = -1;
    int m_errors = -1; ///< what ssh writes to standard error
    std::string m_words;
    std::string m_early; ///< bytes that came with the greeting
    std::string m_buffer;
};

} // namespace shardscope::far
